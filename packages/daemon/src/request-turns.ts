import type { RequestHandler } from 'express';

/**
 * Passes requests on one by one, each in its own turn of the event loop: requests that arrive together, pipelined
 * or not, leave the other work of the process its turns. A request whose client is gone is dropped.
 */
export function requestTurns(): RequestHandler {
  const waiting: (() => void)[] = [];
  const passNext = () => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(passNext);
  };
  return (_request, response, next) => {
    waiting.push(() => {
      if (!response.destroyed) next();
    });
    if (waiting.length === 1) setImmediate(passNext);
  };
}
