import { quote } from '@kube-dns/base';
import { isIP } from 'node:net';
import { type DnsConfig, parseNameServer } from '@kube-dns/daemon';
import { encodeKey, ROOT_NAME } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { DEFAULT_PORT, type RouteTarget, type ServerRule } from '../options/server-value.js';

/** What the ConfigMap adds to the command line (kubernetes/dns pkg/dnsmasq/nanny.go, Configure). */
export interface ConfiguredRules {
  readonly rules: readonly ServerRule[];
  /** Upstream servers of the ConfigMap replace those of the resolv file. */
  readonly usesResolvFile: boolean;
}

/**
 * Turns stub domains and upstream servers into rules; a stub domain's server may be given by name.
 * Throws an OptionError for one that cannot be asked.
 */
export function configuredRules(config: DnsConfig): ConfiguredRules {
  const stubs = [...config.stubDomains].flatMap(([domain, servers]) =>
    servers.map((server) => rule('stubDomains', encodeKey(domain), server)),
  );
  const upstreams = config.upstreamNameservers.map((server) =>
    rule('upstreamNameservers', ROOT_NAME, server),
  );
  return { rules: [...stubs, ...upstreams], usesResolvFile: upstreams.length === 0 };
}

/** The domains whose servers differ between the two, as names in wire form. */
export function changedDomains(before: DnsConfig, after: DnsConfig): readonly Uint8Array[] {
  const [old, now] = [serversByDomain(before), serversByDomain(after)];
  const names = new Set([...old.keys(), ...now.keys()]);
  return [...names].filter((name) => old.get(name) !== now.get(name)).map(encodeKey);
}

/** A domain without servers counts as absent. */
function serversByDomain({ stubDomains, upstreamNameservers }: DnsConfig): Map<string, string> {
  const servers = [...stubDomains, ['.', upstreamNameservers] as const];
  const named = servers.filter(([, texts]) => texts.length > 0);
  return new Map(named.map(([domain, texts]) => [domain, texts.join(' ')]));
}

function rule(key: string, domain: Uint8Array, text: string): ServerRule {
  const { host, port, ...rest } = parseNameServer(text);
  if (port === 0) {
    throw new OptionError(`${key}: server ${quote(text)}: port 0 cannot be asked`);
  }
  const server = { port: port ?? DEFAULT_PORT, ...rest };
  const target: RouteTarget =
    isIP(host) === 0
      ? { kind: 'named-server', server: { ...server, host } }
      : { kind: 'server', server: { ...server, address: host } };
  return { domains: [domain], target };
}
