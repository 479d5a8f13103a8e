/** Whose data a name server outside has: two that disagree show which of them was asked. */
export type View = 'public' | 'corp';

/** Which name servers are asked, by the ConfigMap `kube-dns` (README of kubedns, "Configuration"). */
export interface Routing {
  /** Domains whose name servers have the data of `corp`. */
  readonly stubDomains: readonly string[];
  /** Those for all other names. */
  readonly upstream: View;
}

/** Without a ConfigMap. */
export const DEFAULT_ROUTING: Routing = { stubDomains: [], upstream: 'public' };

/** A stub domain is for its own name and for all below it. */
export function viewOf(name: string, { stubDomains, upstream }: Routing): View {
  const isBelow = (domain: string) => name === domain || name.endsWith(`.${domain}`);
  return stubDomains.some(isBelow) ? 'corp' : upstream;
}
