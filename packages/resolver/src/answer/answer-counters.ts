import type { StaleReason } from '@kube-dns/transport';

/** Counts how queries were answered; each number only grows. */
export class AnswerCounters {
  /** UDP queries answered without forwarding, and those forwarded (dnsmasq's `hits` and `misses`). */
  hits = 0;
  misses = 0;
  /** Queries answered with expired records; with `--stale` also by why. */
  staleAnswers = 0;
  readonly staleReasons: Record<StaleReason, number> = { timeout: 0, failure: 0, known: 0 };
}
