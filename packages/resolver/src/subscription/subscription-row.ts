import type { SubscriptionStatus } from '@kube-dns/transport';

/** One subscription, as pages, metrics and statistics show it. */
export interface SubscriptionRow extends SubscriptionStatus {
  /** `ADDRESS#PORT`. */
  readonly server: string;
  readonly zones: readonly string[];
  /** Behind that address, those that tell changes now. */
  readonly processes: number;
  /** When something changed last, in milliseconds of `performance.now()`; undefined before that. */
  readonly changedMs: number | undefined;
  /** Cached answers that stay until the server says that they changed. */
  readonly keptAnswers: number;
  /** Cached answers that were dropped because their names changed. */
  readonly droppedAnswers: number;
  readonly events: Readonly<Record<string, number>>;
  /** How often all answers were dropped, by reason. */
  readonly flushes: Readonly<Record<string, number>>;
}
