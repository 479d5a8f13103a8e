/** Counts how queries were answered; each number only grows. */
export class AnswerCounters {
  /** UDP queries answered without forwarding, and those forwarded (dnsmasq's `hits` and `misses`). */
  hits = 0;
  misses = 0;
  /** Queries answered with expired records. */
  staleAnswers = 0;
}
