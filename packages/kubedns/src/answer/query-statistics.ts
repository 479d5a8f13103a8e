import { BucketHistogram } from '@kube-dns/daemon';
import { MAX_MESSAGE_BYTES, RCODE } from '@kube-dns/wire';

/** The source of an answer: the zone (and every refusal), an upstream, or either for a reverse name. */
export const SYSTEMS = ['auth', 'recursive', 'reverse'] as const;
export type System = (typeof SYSTEMS)[number];

/** Why a query counts as an error. */
export const CAUSES = ['nxdomain', 'servfail', 'refused', 'truncated', 'overflow'] as const;
export type Cause = (typeof CAUSES)[number];

const CAUSE_OF_RCODE: readonly (Cause | undefined)[] = rcodeTable();

/** Upper bounds in seconds (skydns metrics.go). */
const DURATION_BOUNDS = [
  0.001, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;
const PAGE_BYTES = 4_096;
/** Upper bounds in bytes (skydns metrics.go). */
const SIZE_BOUNDS: readonly number[] = [
  0,
  512,
  1_024,
  1_500,
  2_048,
  ...Array.from({ length: 16 }, (_, i) => (i + 1) * PAGE_BYTES),
];

/** Counts queries as skydns does (server/metrics.go), but each error only once. */
export class QueryStatistics {
  readonly requests: Record<System, number> = { auth: 0, recursive: 0, reverse: 0 };
  /** Seconds from the query to its answer. */
  readonly durations: Record<System, BucketHistogram> = bySystem(
    () => new BucketHistogram(DURATION_BOUNDS),
  );
  /** Bytes of the answers. */
  readonly sizes: Record<System, BucketHistogram> = bySystem(
    () => new BucketHistogram(SIZE_BOUNDS),
  );
  readonly errors: Record<System, Record<Cause, number>> = bySystem(noErrors);
  /** Queries to the zone that were not refused: there is no cache of answers, so each is a miss. */
  cacheMisses = 0;
  /** Queries to the zone whose name has a label `*`. */
  wildcards = 0;

  /** Counts one query when it is answered. */
  count(system: System, seconds: number, bytes: number, rcode: number, isTruncated: boolean): void {
    this.requests[system]++;
    this.durations[system].observe(seconds);
    this.sizes[system].observe(bytes);
    const cause = causeOf(bytes, rcode, isTruncated);
    if (cause !== undefined) this.errors[system][cause]++;
    if (system === 'auth' && rcode !== RCODE.REFUSED) this.cacheMisses++;
  }
}

function causeOf(bytes: number, rcode: number, isTruncated: boolean): Cause | undefined {
  if (isTruncated) return 'truncated';
  return bytes > MAX_MESSAGE_BYTES ? 'overflow' : CAUSE_OF_RCODE[rcode];
}

function rcodeTable(): (Cause | undefined)[] {
  const table: (Cause | undefined)[] = [];
  table[RCODE.NXDOMAIN] = 'nxdomain';
  table[RCODE.SERVFAIL] = 'servfail';
  table[RCODE.REFUSED] = 'refused';
  return table;
}

function bySystem<T>(create: () => T): Record<System, T> {
  return { auth: create(), recursive: create(), reverse: create() };
}

function noErrors(): Record<Cause, number> {
  return { nxdomain: 0, servfail: 0, refused: 0, truncated: 0, overflow: 0 };
}
