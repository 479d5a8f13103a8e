import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { chunksOf } from './chunks.js';

/** Longer answers are compressed. Source: endpoints/handlers/responsewriters. */
const GZIP_BYTES = 128 * 1024;
const GZIP_LEVEL = 1;

const LINE_END = '\n';

/** Answers with JSON, compressed where it is long and the client takes that. */
export function answerJson(response: ServerResponse, value: unknown, status = 200): Promise<void> {
  response.statusCode = status;
  return answerPieces(response, [Buffer.from(JSON.stringify(value) + LINE_END)]);
}

/**
 * Answers with JSON in pieces, which are taken as the client reads, some in each turn of the event loop.
 * Resolves when all are written or the client is gone.
 */
export async function answerPieces(
  response: ServerResponse,
  pieces: Iterable<Buffer>,
): Promise<void> {
  response.setHeader('content-type', 'application/json');
  const chunks = chunksOf(pieces);
  const first: Buffer[] = [];
  let length = 0;
  while (length <= GZIP_BYTES) {
    const { done, value } = chunks.next();
    if (done) {
      response.setHeader('content-length', length);
      response.end(Buffer.concat(first));
      return;
    }
    first.push(value);
    length += value.length;
  }
  const source = Readable.from(paced(first, chunks));
  try {
    if (takesGzip(response)) {
      response.setHeader('content-encoding', 'gzip');
      response.appendHeader('vary', 'Accept-Encoding');
      await pipeline(source, createGzip({ level: GZIP_LEVEL }), response);
    } else await pipeline(source, response);
  } catch (error) {
    // The client is gone, unless a piece could not be made.
    if (source.errored) throw error;
  }
}

async function* paced(first: readonly Buffer[], rest: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  for (const chunk of rest) {
    await setImmediate();
    yield chunk;
  }
}

/** As kube-apiserver reads it: a name with a weight is not known. */
function takesGzip({ req }: ServerResponse): boolean {
  const accepted = req.headers['accept-encoding'];
  return [accepted]
    .flat()
    .join(',')
    .split(',')
    .some((name) => name.trim() === 'gzip');
}
