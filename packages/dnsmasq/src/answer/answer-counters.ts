/** Counts how queries were answered; each number only grows. */
export class AnswerCounters {
  /** UDP queries answered here, and those that led upstream (dnsmasq's `hits` and `misses`). */
  hits = 0;
  misses = 0;
  /** Queries answered with expired records. */
  staleAnswers = 0;
}
