import { NO_STALE, type PrefetchSetup, type StaleSetup } from './stale-setup.js';

/** A line of a hosts file. */
export interface HostsEntry {
  readonly address: string;
  readonly names: readonly string[];
}

/**
 * The settings that both a kube-dns pod with its ConfigMap and a Corefile have: every conversion uses them.
 * Domains are in lower case without a final dot, `.` is all of them. Servers are `IP`, `IPv4:port`,
 * `[IPv6]:port` or a name; one without a port has port 53. Encrypted ones are `tls://…` or `https://…`.
 */
export interface DnsSetup {
  readonly port: number;
  readonly domain: string;
  /** Of `in-addr.arpa` and `ip6.arpa`, those whose names are looked up in the cluster first. */
  readonly reverseZones: readonly string[];
  readonly federations: ReadonlyMap<string, string>;
  readonly stubDomains: ReadonlyMap<string, readonly string[]>;
  /** Domains that go to the upstream servers although a longer part of them is in {@link stubDomains}. */
  readonly upstreamDomains: readonly string[];
  readonly upstreams: readonly string[];
  /** A file whose name servers are also upstreams; empty for none. */
  readonly resolvFile: string;
  /** A file with the certificates of the authorities of encrypted servers; empty for the system's. */
  readonly tlsCa: string;
  readonly asksInOrder: boolean;
  /** The maximum of queries in flight; undefined for the default. */
  readonly forwardMax: number | undefined;
  /** Records, 0 for no cache. */
  readonly cacheSize: number;
  readonly cachesNegativeAnswers: boolean;
  /** Ceiling and floor of TTLs in seconds; 0 for none. */
  readonly maxTtl: number;
  readonly minTtl: number;
  readonly stale: StaleSetup;
  /** Undefined for none. */
  readonly prefetch: PrefetchSetup | undefined;
  readonly detectsLoops: boolean;
  readonly turnsRecords: boolean;
  readonly logsQueries: boolean;
  /** The largest UDP answer in bytes; undefined for the default. */
  readonly maxUdpBytes: number | undefined;
  readonly filteredTypes: readonly ('A' | 'AAAA')[];
  /** Domains without names. */
  readonly emptyDomains: readonly string[];
  /** Domain → the addresses of each name in it. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
  readonly hosts: readonly HostsEntry[];
  /** Empty for none. */
  readonly hostsFile: string;
  /** TTL in seconds of {@link hosts}, {@link hostsFile} and {@link addresses}. */
  readonly localTtl: number;
  readonly pods: 'insecure' | 'disabled';
  readonly namesEndpointsByPod: boolean;
  readonly recordTtl: number;
  /** Empty for the pod's service account. */
  readonly masterUrl: string;
  readonly kubeconfig: string;
  /** For how many seconds the server still answers after SIGTERM. */
  readonly drainSeconds: number;
  readonly isProfiled: boolean;
}

export const REVERSE_ZONES: readonly string[] = ['in-addr.arpa', 'ip6.arpa'];

/** The file with the node's name servers, the default of both sides. */
export const RESOLV_CONF = '/etc/resolv.conf';

/** The default of `--dns-forward-max` in our dnsmasq. */
export const DNSMASQ_FORWARD_MAX = 1500;

/** The pod of manifests/kube-dns with an empty ConfigMap. */
export const STOCK_SETUP: DnsSetup = {
  port: 53,
  domain: 'cluster.local',
  reverseZones: REVERSE_ZONES,
  federations: new Map(),
  stubDomains: new Map(),
  upstreamDomains: [],
  upstreams: [],
  resolvFile: RESOLV_CONF,
  tlsCa: '',
  asksInOrder: false,
  forwardMax: undefined,
  cacheSize: 1000,
  cachesNegativeAnswers: false,
  maxTtl: 0,
  minTtl: 0,
  stale: NO_STALE,
  prefetch: undefined,
  detectsLoops: true,
  turnsRecords: true,
  logsQueries: false,
  maxUdpBytes: undefined,
  filteredTypes: [],
  emptyDomains: [],
  addresses: new Map(),
  hosts: [],
  hostsFile: '',
  localTtl: 0,
  pods: 'insecure',
  namesEndpointsByPod: false,
  recordTtl: 30,
  masterUrl: '',
  kubeconfig: '',
  drainSeconds: 5,
  isProfiled: false,
};

/** A setup under construction. */
export type SetupDraft = { -readonly [K in keyof DnsSetup]: DnsSetup[K] };

/** Whether a domain equals another or is below it; everything is below `.`. */
export function isWithin(domain: string, other: string): boolean {
  return other === '.' || domain === other || domain.endsWith(`.${other}`);
}

/** A domain in the form of {@link DnsSetup}. */
export function plainDomain(text: string): string {
  const domain = text.toLowerCase().replace(/^\.+|\.+$/g, '');
  return domain === '' || domain === '#' ? '.' : domain;
}
