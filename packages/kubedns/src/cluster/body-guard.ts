import { StreamError } from '../errors.js';

/** What is looked at: the body of an answer. */
interface Received {
  readonly receivedBytes: number;
}

/**
 * Gives a body up that brings fewer than `minBytes` in any `windowMs`: a server that is silent, or sends
 * one byte now and then. A body that goes on may take as long as it likes, or `totalMs`.
 */
export function guardBody(
  body: Received,
  options: { windowMs: number; minBytes: number; totalMs?: number },
  giveUp: (error: StreamError) => void,
): { close(): void } {
  const { windowMs, minBytes, totalMs = Infinity } = options;
  let before = body.receivedBytes;
  let elapsedMs = 0;
  const timer = setInterval(() => {
    const bytes = body.receivedBytes - before;
    before = body.receivedBytes;
    elapsedMs += windowMs;
    if (bytes < minBytes) {
      giveUp(new StreamError('idle', `only ${bytes} bytes within ${windowMs} ms`));
    } else if (elapsedMs >= totalMs) {
      giveUp(new StreamError('idle', `no end within ${elapsedMs} ms`));
    }
  }, windowMs);
  return { close: () => clearInterval(timer) };
}
