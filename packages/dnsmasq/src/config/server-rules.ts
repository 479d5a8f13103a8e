import { type DnsConfig, isIpAddress, parseNameServer } from '@kube-dns/daemon';
import { encodeKey, ROOT_NAME } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { DEFAULT_PORT, type ServerRule } from '../options/server-value.js';

/** What the ConfigMap adds to the command line (kubernetes/dns pkg/dnsmasq/nanny.go, Configure). */
export interface ConfiguredRules {
  readonly rules: readonly ServerRule[];
  /** Upstream servers of the ConfigMap take the place of the resolv file. */
  readonly usesResolvFile: boolean;
}

/** Turns stub domains and upstream servers into rules. Throws an OptionError for what is no address. */
export function configuredRules(config: DnsConfig): ConfiguredRules {
  const stubs = [...config.stubDomains].flatMap(([domain, servers]) =>
    servers.map((server) => rule('stubDomains', encodeKey(domain), server)),
  );
  const upstreams = config.upstreamNameservers.map((server) =>
    rule('upstreamNameservers', ROOT_NAME, server),
  );
  return { rules: [...stubs, ...upstreams], usesResolvFile: upstreams.length === 0 };
}

function rule(key: string, domain: Uint8Array, text: string): ServerRule {
  const { host, port } = parseNameServer(text);
  if (!isIpAddress(host) || port === 0) {
    const reason = port === 0 ? 'port 0 cannot be asked' : 'names of servers are not resolved';
    throw new OptionError(`${key}: server ${JSON.stringify(text)}: ${reason}`);
  }
  const server = { address: host, port: port ?? DEFAULT_PORT };
  return { domains: [domain], target: { kind: 'server', server } };
}
