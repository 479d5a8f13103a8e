import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/**
 * Passes requests on one by one, each in its own turn of the event loop: requests that arrive together leave the
 * other work of the process its turns. A request whose connection is closed before is dropped and takes no turn.
 */
export function requestTurns(handle: RequestListener): RequestListener {
  const waiting: [IncomingMessage, ServerResponse][] = [];
  const passNext = () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (next[0].socket.destroyed) continue;
      handle(...next);
      break;
    }
    if (waiting.length > 0) setImmediate(passNext);
  };
  return (request, response) => {
    if (waiting.push([request, response]) === 1) setImmediate(passNext);
  };
}
