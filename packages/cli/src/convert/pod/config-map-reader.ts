import { ConfigError, parseDnsConfig } from '@kube-dns/daemon';
import type { SetupDraft } from '../dns-setup.js';
import { InputError } from '../input-error.js';
import type { Notes } from '../notes.js';
import { plainServer } from '../server-text.js';

/** The keys of the ConfigMap `kube-dns`. */
export const CONFIG_MAP_KEYS: readonly string[] = [
  'stubDomains',
  'upstreamNameservers',
  'federations',
];

/**
 * Adds the keys of the ConfigMap `kube-dns` to the arguments, as the nanny appends arguments for them
 * (kubernetes/dns pkg/dnsmasq/nanny.go). Throws an InputError that names every mistake: a pod ignores such
 * a ConfigMap.
 */
export function readConfigMap(
  data: ReadonlyMap<string, string>,
  where: string,
  draft: SetupDraft,
  notes: Notes,
): void {
  const config = parsed(data, where);
  const stubDomains = new Map(draft.stubDomains);
  for (const [domain, servers] of config.stubDomains) {
    const usable = servers.flatMap((server) => {
      const plain = plainServer(server);
      if (plain === undefined) notes.lose(`stubDomains: ${domain}: ${server}`, 'cannot be asked');
      return plain ?? [];
    });
    if (servers.length === 0) notes.change(`stubDomains: ${domain}`, 'without servers it is void');
    if (usable.length === 0) continue;
    stubDomains.set(domain, [...(stubDomains.get(domain) ?? []), ...usable]);
  }
  draft.stubDomains = stubDomains;
  const upstreams = config.upstreamNameservers.flatMap((server) => plainServer(server) ?? []);
  if (upstreams.length > 0) {
    draft.upstreams = [...draft.upstreams, ...upstreams];
    draft.resolvFile = '';
  }
  draft.federations = new Map([...draft.federations, ...config.federations]);
  for (const key of data.keys()) {
    if (!CONFIG_MAP_KEYS.includes(key)) notes.lose(key, 'kube-dns has no such key');
  }
}

function parsed(data: ReadonlyMap<string, string>, where: string) {
  try {
    return parseDnsConfig(data);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new InputError(`${where}: ${error.mistakes.join('; ')}`, { cause: error });
  }
}
