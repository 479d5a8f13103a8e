import { errorText } from '@kube-dns/base';
import { ConfigError, type DnsConfig } from '@kube-dns/daemon';
import { readForwardTarget, UNKNOWN_ADDRESS } from '../corefile/forward-target.js';

/** What the variables of a template stand for. */
interface TemplateValues {
  readonly localAddresses: readonly string[];
  /** The port of the blocks of stub domains. */
  readonly port: number;
  readonly prometheusAddress: string;
  /** The address of the DNS of the cluster; undefined while it is not known. */
  readonly clusterDns: string | undefined;
}

/** A Corefile that was made of a template. */
export interface RenderedCorefile {
  readonly text: string;
  /** The upstream servers as they stand in it. */
  readonly upstreams: string;
  /** Whether `force_tcp` may have stayed beside upstream servers of the ConfigMap. */
  readonly mayForceTcp: boolean;
}

const UPSTREAMS = '__PILLAR__UPSTREAM__SERVERS__';
/** The variable of the address of the DNS of the cluster. */
export const CLUSTER_DNS = '__PILLAR__CLUSTER__DNS__';
const LOCAL_DNS = '__PILLAR__LOCAL__DNS__';
const DNS_SERVER = '__PILLAR__DNS__SERVER__';
const PROMETHEUS = '__PROMETHEUS__ENDPOINT__';

const RESOLV_CONF = '/etc/resolv.conf';
/** Servers of the ConfigMap are asked over UDP: this block, and no other, loses its `force_tcp`. */
const TCP_BLOCK = `\n    forward . ${UPSTREAMS} {\n            force_tcp\n    }\n`;
const UDP_BLOCK = `\n    forward . ${UPSTREAMS}\n`;
const STUB_TTL = 30;

/**
 * Makes a Corefile of a template and the ConfigMap kube-dns, byte for byte as the original does (cmd/node-cache/app/
 * configmap.go, updateCorefile), but for the order of the stub domains: it is that of their names, where the
 * original's changes from one time to the next.
 */
export function renderTemplate(
  template: string,
  { upstreamNameservers, stubDomains }: DnsConfig,
  values: TemplateValues,
): RenderedCorefile {
  const local = values.localAddresses.join(' ');
  const hasOwn = upstreamNameservers.length > 0;
  const upstreams = hasOwn ? upstreamNameservers.join(' ') : RESOLV_CONF;
  const base = hasOwn ? template.replaceAll(TCP_BLOCK, UDP_BLOCK) : template;
  // The block that was found is no variable any more when the original looks for others.
  const others = hasOwn ? template.replaceAll(TCP_BLOCK, '') : '';
  const text = [
    [UPSTREAMS, upstreams],
    [CLUSTER_DNS, values.clusterDns ?? UNKNOWN_ADDRESS],
    [LOCAL_DNS, local],
    [DNS_SERVER, ''],
    [PROMETHEUS, values.prometheusAddress],
  ].reduce((done, [name = '', value = '']) => done.replaceAll(name, () => value), base);
  const stubs = [...stubDomains].sort(([left], [right]) => (left < right ? -1 : 1));
  const blocks = stubs.map(([domain, servers]) =>
    [
      '',
      `${domain}:${values.port} {`,
      '    errors',
      `    cache ${STUB_TTL}`,
      `    bind ${local}`,
      `    forward . ${servers.join(' ')}`,
      '}',
      '',
    ].join('\n'),
  );
  return { text: text + blocks.join(''), upstreams, mayForceTcp: others.includes(UPSTREAMS) };
}

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
