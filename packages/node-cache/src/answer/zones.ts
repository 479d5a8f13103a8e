import { BucketHistogram } from '@kube-dns/daemon';
import { encodeKey, NameTable, type Query } from '@kube-dns/wire';

/** Values by zone; a name finds that of the longest zone that it is in. */
export class ZoneSet<T> {
  readonly #zones = new NameTable<T>();

  /** Zones as in a Corefile: without the last dot, the root is `.`. */
  set(zone: string, value: T): void {
    this.#zones.set(encodeKey(zone), value);
  }

  get size(): number {
    return this.#zones.size;
  }

  /** The value for a lower-cased name in wire form; undefined when it is in no zone. Allocates nothing. */
  find(name: Uint8Array, length: number): T | undefined {
    return this.#zones.findSuffix(name, length);
  }
}

/** The zones of a list, for `isIn`. */
export function zoneSet(zones: readonly string[]): ZoneSet<true> {
  const set = new ZoneSet<true>();
  for (const zone of zones) set.set(zone, true);
  return set;
}

/** The types that are counted by name (coredns plugin/metrics/vars/monitor.go). */
const NAMED_TYPES: readonly (readonly [name: string, type: number])[] = [
  ['A', 1],
  ['NS', 2],
  ['CNAME', 5],
  ['SOA', 6],
  ['PTR', 12],
  ['MX', 15],
  ['TXT', 16],
  ['AAAA', 28],
  ['SRV', 33],
  ['DS', 43],
  ['RRSIG', 46],
  ['NSEC', 47],
  ['DNSKEY', 48],
  ['NSEC3', 50],
  ['HTTPS', 65],
  ['IXFR', 251],
  ['AXFR', 252],
  ['ANY', 255],
];

const NAMES = new Map(NAMED_TYPES.map(([name, type]) => [type, name]));

/** The name of a type, or `TYPE65280` (RFC 3597 section 5). */
export function typeText(type: number): string {
  return NAMES.get(type) ?? `TYPE${type}`;
}

/** coredns plugin/metrics/vars: bounds in seconds and in bytes. */
export const DURATION_BOUNDS = Array.from({ length: 16 }, (_, i) => 0.000_25 * 2 ** i);
const SIZES = [
  0, 100, 200, 300, 400, 511, 1_023, 2_047, 4_095, 8_291, 16_000, 32_000, 48_000, 64_000,
];

/** The labels of types; all others are one. */
export const TYPE_LABELS = [...NAMED_TYPES.map(([name]) => name), 'other'];
const OTHER = NAMED_TYPES.length;
/** By type: its index in the labels. */
const LABEL_INDEX = new Uint8Array(256).fill(OTHER);
NAMED_TYPES.forEach(([, type], index) => (LABEL_INDEX[type] = index));

const RCODES = 24;

/** What the queries of one zone at one address were, and how they were answered; each number only grows. */
export class ZoneCounters {
  /** By protocol, family (1 is IPv4, 2 IPv6) and type: see `requestsOf`. */
  readonly #requests = new Float64Array(2 * 2 * TYPE_LABELS.length);
  /** Answers from the cache with records and without, and answers that were not there. */
  readonly cacheHits = { success: 0, denial: 0 };
  cacheMisses = 0;
  /** Queries with the bit DO. */
  dnssecRequests = 0;
  readonly rcodes = new Float64Array(RCODES);
  readonly seconds = new BucketHistogram(DURATION_BOUNDS);
  readonly requestBytes = sizes();
  readonly responseBytes = sizes();

  countRequest({ isOverTcp, isDnssecOk, type, length }: Query, isIpv6: boolean): void {
    const label = type < LABEL_INDEX.length ? LABEL_INDEX[type]! : OTHER;
    this.#requests[indexOf(isOverTcp, isIpv6) + label]!++;
    if (isDnssecOk) this.dnssecRequests++;
    (isOverTcp ? this.requestBytes.tcp : this.requestBytes.udp).observe(length);
  }

  countResponse(isTcp: boolean, rcode: number, bytes: number, seconds: number): void {
    this.rcodes[rcode]!++;
    this.seconds.observe(seconds);
    (isTcp ? this.responseBytes.tcp : this.responseBytes.udp).observe(bytes);
  }

  /** By type, in the order of TYPE_LABELS. */
  requestsOf(isTcp: boolean, isIpv6: boolean): Float64Array {
    const start = indexOf(isTcp, isIpv6);
    return this.#requests.subarray(start, start + TYPE_LABELS.length);
  }
}

function indexOf(isTcp: boolean, isIpv6: boolean): number {
  return (Number(isTcp) * 2 + Number(isIpv6)) * TYPE_LABELS.length;
}

function sizes() {
  return { udp: new BucketHistogram(SIZES), tcp: new BucketHistogram(SIZES) };
}
