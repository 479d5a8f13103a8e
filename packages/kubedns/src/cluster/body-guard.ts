import { StreamError } from '../errors.js';

/** The guarded part of an ApiBody. */
interface Received {
  readonly receivedBytes: number;
}

/**
 * Calls `giveUp` when fewer than `minBytes` of a body arrive within any `windowMs`: the server is silent or
 * almost so. A body that keeps arriving has no limit but `totalMs`.
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
