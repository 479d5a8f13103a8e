import { isIP } from 'node:net';
import { parseGoDuration } from '@kube-dns/base';
import {
  isDnsSubdomain,
  parseEncryptedServer,
  parseNameServer,
  type EncryptedServer,
} from '@kube-dns/daemon';

/** How old answers are served while the servers are away. */
export interface StaleSetup {
  /** For how many seconds; 0 for not at all. */
  readonly seconds: number;
  /** How long a client waits for a new one first, in milliseconds; undefined for not at all. */
  readonly waitMs: number | undefined;
  /** The TTL that clients get, in seconds, when they wait; 0 else. */
  readonly ttl: number;
}

/** What is asked for again before it expires: what was asked for so often, when this share of its TTL is left. */
export interface PrefetchSetup {
  readonly hits: number;
  readonly percent: number;
}

export const NO_STALE: StaleSetup = { seconds: 0, waitMs: undefined, ttl: 0 };

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
  /** The zone of services that are imported from other clusters; empty for none. */
  readonly clustersetDomain: string;
  /** The zone of services with an address outside of the cluster; empty for none. */
  readonly externalDomain: string;
  /** Who may transfer the zones of the cluster, `IP` or `IP/bits`. */
  readonly transferTo: readonly string[];
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
  /** The prefix of addresses that are made of IPv4 addresses; empty for none. */
  readonly dns64: string;
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
  /** Whether headless services have names of zones: CoreDNS's option `zonal`. */
  readonly isZonal: boolean;
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

/** Every address, in both families. */
export const ALL_NETWORKS: readonly string[] = ['0.0.0.0/0', '::/0'];

/** The default of `--dns-forward-max` in our dnsmasq. */
export const DNSMASQ_FORWARD_MAX = 1500;

/** The pod of manifests/kube-dns with an empty ConfigMap. */
export const STOCK_SETUP: DnsSetup = {
  port: 53,
  domain: 'cluster.local',
  clustersetDomain: '',
  externalDomain: '',
  transferTo: [],
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
  dns64: '',
  emptyDomains: [],
  addresses: new Map(),
  hosts: [],
  hostsFile: '',
  localTtl: 0,
  pods: 'insecure',
  namesEndpointsByPod: false,
  isZonal: false,
  recordTtl: 30,
  masterUrl: '',
  kubeconfig: '',
  drainSeconds: 5,
  isProfiled: false,
};

/** A setup under construction. */
export type SetupDraft = { -readonly [K in keyof DnsSetup]: DnsSetup[K] };

/** A domain in the form of {@link DnsSetup}. */
export function plainDomain(text: string): string {
  const domain = text.toLowerCase().replace(/^\.+|\.+$/g, '');
  return domain === '' || domain === '#' ? '.' : domain;
}

/** How long `verify` without a duration waits here, and the TTL where none is given (RFC 8767 sections 4 and 5). */
export const WAIT_MS = 1_800;
export const STALE_TTL = 30;
const STALE_SECONDS = 3_600;
const HITS = 3;
/** CoreDNS has no smaller share. */
export const MIN_PERCENT = 10;
const NUMBER = /^\d{1,9}$/;

/** The value of dnsmasq's `--stale`, `TIMEOUT[,MAXAGE[,TTL]]`; undefined for another text. */
export function readStale(value: string): StaleSetup | undefined {
  const [wait = '', age = `${STALE_SECONDS}`, ttl = `${STALE_TTL}`, ...rest] = value.split(',');
  const [waitMs, ageMs, ttlMs] = [wait, age, ttl].map(durationMs);
  if (rest.length > 0 || waitMs === undefined || ageMs === undefined || ttlMs === undefined)
    return undefined;
  return { seconds: Math.floor(ageMs / 1_000), waitMs, ttl: Math.floor(ttlMs / 1_000) };
}

/** The option of dnsmasq. */
export function staleArguments({ seconds, waitMs, ttl }: StaleSetup): string[] {
  if (seconds === 0) return [];
  if (waitMs === undefined) return [`--use-stale-cache=${seconds}`];
  return [`--stale=${waitMs}ms,${seconds},${ttl}`];
}

/** The value of dnsmasq's `--prefetch`, `HITS[,PERCENT]`; undefined for another text. */
export function readPrefetch(value: string): PrefetchSetup | undefined {
  const [hits = '', percent = `${MIN_PERCENT}`, ...rest] = value.split(',');
  const numbers = [hits === '' ? `${HITS}` : hits, percent];
  if (rest.length > 0 || !numbers.every((text) => NUMBER.test(text))) return undefined;
  return { hits: Number(numbers[0]), percent: Number(percent) };
}

/** Milliseconds of a Go duration, or of a number of seconds; undefined for another text. */
export function durationMs(text: string): number | undefined {
  if (NUMBER.test(text)) return Number(text) * 1_000;
  try {
    const ms = parseGoDuration(text);
    return ms < 0 ? undefined : ms;
  } catch {
    return undefined;
  }
}

const DNS_PORT = 53;
const ENCRYPTED_PORTS = { tls: 853, https: 443 } as const;

/**
 * A name server in the form of DnsSetup, from any of `IP`, `IP#port`, `IPv4:port`, `[IPv6]:port`, `dns://…`, a name,
 * `tls://…` and `https://…`; undefined for what is none of these.
 */
export function plainServer(text: string): string | undefined {
  const address = text.replace(/^dns:\/\//, '');
  if (address.includes('://')) {
    try {
      return encryptedText(parseEncryptedServer(address)!);
    } catch {
      return undefined; // the caller reports it
    }
  }
  const hash = address.lastIndexOf('#');
  if (hash >= 0) {
    const host = address.slice(0, hash).replace(/^\[(.*)\]$/, '$1');
    const isUsable = isIP(host) !== 0 || isDnsSubdomain(host);
    return isUsable ? withPort(host, address.slice(hash + 1)) : undefined;
  }
  try {
    const { host, port } = parseNameServer(address);
    return withPort(host, String(port ?? DNS_PORT));
  } catch {
    return undefined; // the caller reports it
  }
}

/** An encrypted server in the form of DnsSetup, as the ConfigMap and `--server` take it. */
export function encryptedText({ host, port, encryption }: EncryptedServer): string {
  const { protocol, name, path } = encryption;
  const address = protocol === 'https' && isIP(host) === 6 ? `[${host}]` : host;
  const divider = protocol === 'https' ? ':' : '#';
  const portText = port === ENCRYPTED_PORTS[protocol] ? '' : `${divider}${port}`;
  return `${protocol}://${address}${portText}${name === host ? '' : `%${name}`}${path}`;
}

/** The host of a server in the form of DnsSetup. */
export function serverHost(server: string): string {
  return parseNameServer(server).host;
}

/** As `--server` takes it: with `#` before the port. */
export function dnsmasqServer(server: string): string {
  if (parseEncryptedServer(server) !== undefined) return server;
  const { host, port } = parseNameServer(server);
  return port === null ? host : `${host}#${port}`;
}

/** Whether a server is given by its name, which must be looked up. */
export function isNamedServer(server: string): boolean {
  return isIP(serverHost(server)) === 0;
}

function withPort(host: string, port: string): string | undefined {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65_535) return undefined;
  if (number === DNS_PORT) return host;
  if (isIP(host) === 0) return undefined; // kube-dns has no counterpart
  return isIP(host) === 6 ? `[${host}]:${number}` : `${host}:${number}`;
}

/** A note of a conversion about its input. */
interface Note {
  /** The argument, directive, key or field, as in the input. */
  readonly what: string;
  readonly reason: string;
  /** Whether it is missing from the output, not only different there. */
  readonly isLost: boolean;
}

/** What could not be carried over and what was changed, in the order of the input. */
export class Notes {
  readonly #notes: Note[] = [];

  /** The output does not have it. */
  lose(what: string, reason: string): void {
    this.#notes.push({ what, reason, isLost: true });
  }

  /** The output has it with another meaning. */
  change(what: string, reason: string): void {
    this.#notes.push({ what, reason, isLost: false });
  }

  get all(): readonly Note[] {
    return this.#notes;
  }

  get hasLosses(): boolean {
    return this.#notes.some(({ isLost }) => isLost);
  }

  /** One line each, losses first; empty without notes. */
  lines(): string[] {
    const text = ({ what, reason, isLost }: Note): string =>
      oneLine(`${isLost ? 'not carried over' : 'differs'}: ${what}: ${reason}`);
    const losses = this.#notes.filter(({ isLost }) => isLost);
    const changes = this.#notes.filter(({ isLost }) => !isLost);
    return [...new Set([...losses, ...changes].map(text))];
  }
}

/** A line break within a quoted word would end the comment. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ');
}
