import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { RequestHandler } from '@kube-dns/daemon';

type Response = Parameters<RequestHandler>[1];

/** Size of one write; after each, the event loop gets a turn. */
const CHUNK_CHARACTERS = 32 * 1024;

/**
 * Answers with a text that is generated piece by piece: it waits for a slow client, stops when the client
 * is gone, and yields to the event loop, so its length does not matter. One dump at a time: a second
 * client gets 429. An error before the first byte is a 500 with its text.
 */
export function dumpHandler(dump: () => Iterable<string>): RequestHandler {
  let isBusy = false;
  return async (_request, response) => {
    response.type('text/plain');
    if (isBusy) {
      response.status(429).set('Retry-After', '1').send('another dump is in progress\n');
      return;
    }
    isBusy = true;
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      await writeAll(dump(), response, gone.signal);
      response.end();
    } catch (error) {
      if (gone.signal.aborted) return;
      if (response.headersSent) response.destroy();
      else response.status(500).send(`${String(error)}\n`);
    } finally {
      isBusy = false;
    }
  };
}

/** Rejects when the client disconnects, or with the error of the generator. */
async function writeAll(
  pieces: Iterable<string>,
  response: Response,
  signal: AbortSignal,
): Promise<void> {
  let chunk = '';
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    // Both reject when the client disconnects.
    if (!response.write(chunk)) await once(response, 'drain', { signal });
    await setImmediate(undefined, { signal });
    chunk = '';
  }
  response.write(chunk);
}
