import { StreamError } from '../errors.js';

/** The guarded part of an ApiBody. */
interface Received {
  readonly receivedBytes: number;
  readonly contentBytes: number;
}

/**
 * Calls `giveUp` when fewer than `minBytes` of a body arrive within any `windowMs`, or of its content: the server is
 * silent or almost so, whether a few bytes expand to many or many to none. A body that keeps arriving has no limit.
 */
export function guardBody(
  body: Received,
  { windowMs, minBytes }: { readonly windowMs: number; readonly minBytes: number },
  giveUp: (error: StreamError) => void,
): { close(): void } {
  let received = body.receivedBytes;
  let content = body.contentBytes;
  const timer = setInterval(() => {
    const bytes = Math.min(body.receivedBytes - received, body.contentBytes - content);
    received = body.receivedBytes;
    content = body.contentBytes;
    if (bytes >= minBytes) return;
    giveUp(new StreamError('idle', `only ${bytes} bytes within ${windowMs} ms`));
  }, windowMs);
  return { close: () => clearInterval(timer) };
}
