import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { RequestHandler } from '@kube-dns/daemon';

type Response = Parameters<RequestHandler>[1];

/** Pieces are gathered up to here; then others get their turn. */
const CHUNK_CHARACTERS = 32 * 1024;

/**
 * Answers with a text that is made piece by piece: it waits for a client that reads slowly, stops when
 * the client is gone, and lets others work in between, so that its length does not matter. One at a
 * time: a second client gets 429. An error before the first byte is a 500 with its text.
 */
export function dumpHandler(dump: () => Iterable<string>): RequestHandler {
  let isBusy = false;
  return async (_request, response) => {
    response.type('text/plain');
    if (isBusy) {
      response.status(429).set('Retry-After', '1').send('another dump is under way\n');
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

/** Rejects when the client goes away, or with what the pieces' maker throws. */
async function writeAll(
  pieces: Iterable<string>,
  response: Response,
  signal: AbortSignal,
): Promise<void> {
  let chunk = '';
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    // Both reject when the client goes away.
    if (!response.write(chunk)) await once(response, 'drain', { signal });
    await setImmediate(undefined, { signal });
    chunk = '';
  }
  response.write(chunk);
}
