/** When a question that got no reply is sent again (`--query-timeout`, `--fast-dns-retry`). */
export interface RetryPlan {
  /** After this time a client gets SERVFAIL. */
  readonly timeoutMs: number;
  /** A server without a reply for so long has timed out. */
  readonly replyMs: number;
  /** How long to wait after the first sending (0) and after each further one. */
  delayMs(retries: number): number;
}

/** `--fast-dns-retry`: the first pause, which doubles, and the time after which it ends. */
export interface FastRetry {
  readonly firstMs: number;
  readonly limitMs: number;
}

const FIRST_MS = 1_000;
/** The first server's part of a short time-out. */
const FIRST_SHARE = 0.25;

/** Each pause is twice the one before: a lost datagram costs little, a dead server no flood. */
export function retryPlan(timeoutMs: number, fast?: FastRetry): RetryPlan {
  const replyMs = Math.min(FIRST_MS, timeoutMs * FIRST_SHARE);
  const firstMs = fast?.firstMs ?? replyMs;
  const limitMs = fast?.limitMs ?? timeoutMs;
  return {
    timeoutMs,
    replyMs,
    delayMs: (retries) => {
      const pauseMs = firstMs * 2 ** retries;
      // The pauses so far add up to twice the last one, less the first.
      return 2 * pauseMs - firstMs < limitMs ? pauseMs : Number.POSITIVE_INFINITY;
    },
  };
}
