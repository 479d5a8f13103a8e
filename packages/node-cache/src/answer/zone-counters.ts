import { BucketHistogram } from '@kube-dns/daemon';
import type { Query } from '@kube-dns/wire';
import { NAMED_TYPES } from './type-text.js';

/** coredns plugin/metrics/vars: bounds in seconds and in bytes. */
export const DURATION_BOUNDS = Array.from({ length: 16 }, (_, i) => 0.000_25 * 2 ** i);
const SIZES = [
  0, 100, 200, 300, 400, 511, 1_023, 2_047, 4_095, 8_291, 16_000, 32_000, 48_000, 64_000,
];

/** The labels of types; all others are one. */
export const TYPE_LABELS = [...NAMED_TYPES.map(([name]) => name), 'other'];
const OTHER = NAMED_TYPES.length;
/** By type: its place in the labels. */
const PLACES = new Uint8Array(256).fill(OTHER);
NAMED_TYPES.forEach(([, type], place) => (PLACES[type] = place));

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
    const place = type < PLACES.length ? PLACES[type]! : OTHER;
    this.#requests[indexOf(isOverTcp, isIpv6) + place]!++;
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
