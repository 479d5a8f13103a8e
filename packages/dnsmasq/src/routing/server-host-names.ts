import { serverText, type ServerAddress } from '@kube-dns/transport';
import { encodeKey } from '@kube-dns/wire';
import type { ServerRule } from '../options/server-value.js';
import { Routes } from './routes.js';

/** kubernetes/dns pkg/dnsmasq/nanny.go compares with this text, whatever the cluster's domain is. */
const CLUSTER_SUFFIX = 'cluster.local';

/** The names of servers that rules have in place of an address. */
export function hostsOf(rules: readonly ServerRule[]): ReadonlySet<string> {
  const hosts = rules.flatMap(({ target }) =>
    target.kind === 'named-server' ? [target.server.host] : [],
  );
  return new Set(hosts);
}

/**
 * The names that kubedns resolves: those of `cluster.local`, and those of the domains that the command
 * line routes to the server of `-kubednsServer`, so that a cluster may have any domain.
 */
export class KubednsNames {
  readonly #routes: Routes;
  readonly #kubedns: string;

  constructor(rules: readonly ServerRule[], kubednsServer: ServerAddress) {
    this.#routes = new Routes({ rules, resolvServers: [] });
    this.#kubedns = serverText(kubednsServer);
  }

  has(host: string): boolean {
    if (isInClusterLocal(host)) return true;
    const name = encodeKey(host);
    const { domain, servers } = this.#routes.find({ name, nameLength: name.length });
    // As a default server kubedns is one of several; that assigns no domain to it.
    return domain !== '.' && servers.some((server) => serverText(server) === this.#kubedns);
  }
}

function isInClusterLocal(host: string): boolean {
  return `.${host.toLowerCase().replace(/\.$/, '')}`.endsWith(`.${CLUSTER_SUFFIX}`);
}
