import { type ServerAddress, serverKey } from '@kube-dns/transport';
import { decodeName, ROOT_NAME } from '@kube-dns/wire';
import type {
  RuleDomains,
  ServerRule,
  ServerSource,
  WildcardDomain,
} from '../options/server-value.js';

/** A server of a domain, and the source of queries to it. */
export interface RoutedServer {
  readonly server: ServerAddress;
  readonly source: ServerSource | undefined;
}

/** The names of one draft: a domain, a wildcard, or all of one label. */
export type DraftNames =
  | { readonly kind: 'domain'; readonly domain: Uint8Array }
  | { readonly kind: 'wildcard'; readonly wildcard: WildcardDomain }
  | { readonly kind: 'unqualified' };

/** The merged rules for the same names. */
export interface RuleDraft {
  readonly names: DraftNames;
  /** As dnsmasq writes it; `.` is every name, empty those of one label. */
  readonly text: string;
  /** By text and source: a server that is given twice is asked once. */
  readonly servers: Map<string, RoutedServer>;
  isLocal: boolean;
  usesDefault: boolean;
}

/** Merges the rules by the names that they apply to, in order of appearance. */
export class RuleDrafts {
  readonly #drafts = new Map<string, RuleDraft>();
  readonly #addressesOf: (host: string) => readonly string[];

  /** `addressesOf` returns the resolved addresses of a server that is given by name. */
  constructor(addressesOf: (host: string) => readonly string[]) {
    this.#addressesOf = addressesOf;
  }

  addServerRule(rule: ServerRule): void {
    const { target } = rule;
    for (const draft of this.#draftsOf(rule)) {
      if (target.kind === 'local') draft.isLocal = true;
      else if (target.kind === 'default') draft.usesDefault = true;
      else if (target.kind === 'server') addServer(draft, target.server, target.source);
      else {
        const { host, ...server } = target.server;
        // A name without addresses (yet) still claims the domain: its questions must not go to other servers.
        for (const address of this.#addressesOf(host)) {
          addServer(draft, { ...server, address }, target.source);
        }
      }
    }
  }

  /** The default servers; made when no rule named any. */
  get root(): RuleDraft {
    return this.#draft({ kind: 'domain', domain: ROOT_NAME }, '.');
  }

  /** All but the root. */
  others(): RuleDraft[] {
    return [...this.#drafts.values()].filter(({ text }) => text !== '.');
  }

  #draftsOf({ domains, wildcards = [], isUnqualified = false }: RuleDomains): RuleDraft[] {
    const isEveryName = domains.length === 0 && wildcards.length === 0 && !isUnqualified;
    const named = isEveryName ? [ROOT_NAME] : domains;
    return [
      ...named.map((domain) => this.#draft({ kind: 'domain', domain }, decodeName(domain))),
      ...wildcards.map((wildcard) => this.#draft({ kind: 'wildcard', wildcard }, textOf(wildcard))),
      ...(isUnqualified ? [this.#draft({ kind: 'unqualified' }, '')] : []),
    ];
  }

  #draft(names: DraftNames, text: string): RuleDraft {
    let draft = this.#drafts.get(text);
    if (draft === undefined) {
      draft = {
        names,
        text,
        servers: new Map(),
        isLocal: false,
        usesDefault: false,
      };
      this.#drafts.set(text, draft);
    }
    return draft;
  }
}

/** The texts of the names that a rule applies to, as drafts have them. */
export function domainTexts({
  domains,
  wildcards = [],
  isUnqualified = false,
}: RuleDomains): string[] {
  if (domains.length === 0 && wildcards.length === 0 && !isUnqualified) return ['.'];
  const named = domains.map((domain) => decodeName(domain));
  return [...named, ...wildcards.map(textOf), ...(isUnqualified ? [''] : [])];
}

/** Appends a server to a draft. */
export function addServer(
  draft: RuleDraft,
  server: ServerAddress,
  source: ServerSource | undefined,
): void {
  const { address = '', interface: device = '', port = '' } = source ?? {};
  const key = `${serverKey(server)}@${device}@${address}#${port}`;
  if (!draft.servers.has(key)) draft.servers.set(key, { server, source });
}

function textOf({ labelEnd, parent }: WildcardDomain): string {
  return `*${Buffer.from(labelEnd).toString('latin1')}.${decodeName(parent)}`;
}
