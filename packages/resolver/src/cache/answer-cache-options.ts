import type { LastSeen } from '@kube-dns/push';

/** The size of an AnswerCache, and its rules for TTLs. */
export interface AnswerCacheOptions {
  /** Maximum of cached records; 0 caches nothing. */
  readonly maxRecords: number;
  /** Ceiling on the TTLs that clients see, in seconds; 0 is none. */
  readonly maxTtlSeconds?: number;
  /** How long an expired answer is served, in seconds; 0, the default, is not at all. */
  readonly maxStaleSeconds?: number;
  /** The TTL of expired answers that are served, in seconds; 0, the default, as dnsmasq has it. */
  readonly staleTtlSeconds?: number;
  /** Whether each answer rotates its records by one; true unless given. */
  readonly rotatesRecords?: boolean;
  /** Whether clients get the TTLs that an answer was stored with, until it expires; not unless given. */
  readonly keepsTtls?: boolean;
  /** Whether hits are counted; not unless given. */
  readonly countsHits?: boolean;
  /** Whether an answer counts as one record, however many it has; not unless given. */
  readonly countsAnswers?: boolean;
  /** When the servers of subscriptions were heard; none lives, unless given. */
  readonly heardAt?: LastSeen;
  /** The same, also of those that do not live any more. */
  readonly lastHeardAt?: LastSeen | undefined;
  /** A monotonic clock in seconds; the process's unless given. */
  readonly nowSeconds?: () => number;
}
