import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import {
  type HttpServer,
  type LocalPage,
  localPages,
  type Log,
  type RequestHandler,
  startHttpServer,
} from '@kube-dns/daemon';

export interface HealthServerOptions {
  readonly host: string;
  readonly port: number;
  readonly log: Log;
  readonly isReady: () => boolean;
  /** The text of `/cache`, generated piece by piece on demand. */
  readonly dump: () => Iterable<string>;
  /** The text of `/subscribers`. */
  readonly subscribers: () => string;
  /** Pages for this machine and this pod alone, by path. */
  readonly localPages?: ReadonlyMap<string, LocalPage>;
}

/**
 * Serves `/readiness` (200 once every object was listed, 503 before and while closing), `/cache` and
 * `/subscribers`. Rejects with a StartupError when the port is not available.
 */
export function startHealthServer(options: HealthServerOptions): Promise<HttpServer> {
  const { host, port, log, isReady, dump, subscribers } = options;
  return startHttpServer({
    host,
    port,
    log,
    purpose: 'readiness',
    routes: (app) => {
      app.all('/readiness', (_request, response) => {
        const ready = isReady();
        response
          .status(ready ? 200 : 503)
          .type('text/plain')
          .send(ready ? 'ok\n' : 'not ready\n');
      });
      app.all('/cache', dumpHandler(dump));
      app.all('/subscribers', (_request, response) => {
        response.type('application/json').send(subscribers());
      });
      app.use(localPages(options.localPages ?? new Map()));
    },
  });
}

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
