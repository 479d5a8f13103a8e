import type { ServerRule } from '../options/server-value.js';

/** kubernetes/dns pkg/dnsmasq/nanny.go tests for this text, whatever the cluster's domain is. */
const CLUSTER_SUFFIX = 'cluster.local';

/** The names of servers that rules have in place of an address. */
export function hostsOf(rules: readonly ServerRule[]): ReadonlySet<string> {
  const hosts = rules.flatMap(({ target }) =>
    target.kind === 'named-server' ? [target.server.host] : [],
  );
  return new Set(hosts);
}

/** Tells whether a server's name is one of the cluster. */
export function isInCluster(host: string): boolean {
  return `.${host.toLowerCase().replace(/\.$/, '')}`.endsWith(`.${CLUSTER_SUFFIX}`);
}
