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
import { unmappedAddress } from '@kube-dns/wire';
import { SNAPSHOT_PATH } from '../watch/replicas.js';

export interface HealthServerOptions {
  readonly host: string;
  readonly port: number;
  readonly log: Log;
  readonly isReady: () => boolean;
  /** What `/readiness` says beside it; '' for nothing. */
  readonly readyNote?: () => string;
  /** The text of `/cache`, generated piece by piece on demand. */
  readonly dump: () => Iterable<string>;
  /** The text of `/subscribers`. */
  readonly subscribers: () => string;
  /** Pages for this machine and this pod alone, by path. */
  readonly localPages?: ReadonlyMap<string, LocalPage>;
  /** What `/snapshot` gives; there is no such path unless given. */
  readonly snapshots?: SnapshotSource | undefined;
}

/** Who may have a snapshot, and its bytes. */
export interface SnapshotSource {
  /** For this header `Authorization`, at this address: 401 is without the token, 503 while there is none. */
  answerTo(authorization: string, address: string): AsyncGenerator<Buffer> | 401 | 503;
}

/**
 * Serves `/readiness` (200 once every object was listed, 503 before and while closing), `/cache`, `/subscribers` and
 * `/snapshot`. Rejects with a StartupError when the port is not available.
 */
export function startHealthServer(options: HealthServerOptions): Promise<HttpServer> {
  const { host, port, log, isReady, readyNote, dump, subscribers, snapshots } = options;
  return startHttpServer({
    host,
    port,
    log,
    purpose: 'readiness',
    routes: (app) => {
      app.all('/readiness', (_request, response) => {
        const ready = isReady();
        const note = readyNote?.() ?? '';
        const text = ready ? 'ok' : 'not ready';
        response
          .status(ready ? 200 : 503)
          .type('text/plain')
          .send(note === '' ? `${text}\n` : `${text}: ${note}\n`);
      });
      app.all('/cache', dumpHandler(dump));
      app.all('/subscribers', (_request, response) => {
        response.type('application/json').send(subscribers());
      });
      if (snapshots !== undefined) app.get(SNAPSHOT_PATH, snapshotHandler(snapshots));
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

/** A replica that reads no faster has its file. */
const SNAPSHOT_LIMIT_MS = 10_000;

/** Gives a snapshot to those who have the token, one at a time: another one gets 429. */
export function snapshotHandler(source: SnapshotSource): RequestHandler {
  let isBusy = false;
  return async (request, response) => {
    response.type('text/plain');
    const { headers, socket } = request;
    const address = unmappedAddress(socket.localAddress ?? '');
    const chunks = source.answerTo(headers.authorization ?? '', address);
    if (chunks === 401) {
      response.status(401).set('WWW-Authenticate', 'Bearer').send('the token is needed\n');
      return;
    }
    if (isBusy) {
      response.status(429).set('Retry-After', '1').send('another snapshot is in progress\n');
      return;
    }
    if (chunks === 503) {
      response.status(503).send('the cluster is not listed\n');
      return;
    }
    isBusy = true;
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(SNAPSHOT_LIMIT_MS)]);
    response.once('close', () => gone.abort());
    response.type('application/octet-stream');
    try {
      for await (const chunk of chunks) {
        signal.throwIfAborted();
        if (!response.write(chunk)) await once(response, 'drain', { signal });
      }
      response.end();
    } catch {
      // It is gone, reads too slowly, or must not take what it has for a whole one.
      response.destroy();
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
