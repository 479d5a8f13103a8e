import { errorText } from '@kube-dns/base';
import { ConfigError, type DnsConfig } from '@kube-dns/daemon';
import { readForwardTarget } from '../corefile/forward-target.js';

/**
 * Throws a ConfigError for servers of a ConfigMap that a Corefile cannot have: names, and none at all for a stub
 * domain. After kubernetes/dns pkg/dns/config/config.go, ValidateNodeLocalCacheConfig, which lets a stub domain
 * without servers through, and CoreDNS then ends.
 */
export function checkServers({ stubDomains, upstreamNameservers }: DnsConfig): void {
  const mistakes = [
    ...[...stubDomains].flatMap(([domain, servers]) => {
      if (servers.length === 0) return [`no nameservers for the stub domain ${domain}`];
      return wrongServer(
        `invalid nameservers [${servers.join(' ')}] for the stub domain ${domain}`,
        servers,
      );
    }),
    ...wrongServer(
      `invalid upstream nameservers [${upstreamNameservers.join(' ')}]`,
      upstreamNameservers,
    ),
  ];
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}

function wrongServer(what: string, servers: readonly string[]): string[] {
  for (const server of servers) {
    try {
      readForwardTarget(server, '');
    } catch (error) {
      return [`${what}: ${errorText(error)}`];
    }
  }
  return [];
}
