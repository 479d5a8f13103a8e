import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { ApiError, httpStatusOf, messageOf, STATUS_CODES, type StatusDetails } from '../errors.js';

/** `metav1.Status`. */
interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string };
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

const TYPE = { kind: 'Status', apiVersion: 'v1', metadata: {} } as const;

/** The answer to a delete that does not return the object. */
export function successStatus(details: StatusDetails): Status {
  return { ...TYPE, status: 'Success', details };
}

/** The `Status` for a refusal. */
export function failureStatus(error: ApiError): Status {
  const { message, reason, details, status: code } = error;
  const metadata = error.continue === undefined ? {} : { continue: error.continue };
  return {
    ...TYPE,
    metadata,
    status: 'Failure',
    message,
    reason,
    ...(details && { details }),
    code,
  };
}

/** Any thrown value as a refusal: other errors become a 500, or the 4xx that express set. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const status = httpStatusOf(error) ?? STATUS_CODES.InternalError;
  const message = messageOf(error);
  if (status === STATUS_CODES.RequestEntityTooLarge) {
    return new ApiError('RequestEntityTooLarge', `Request entity too large: ${message}`);
  }
  if (status === STATUS_CODES.UnsupportedMediaType) {
    return new ApiError('UnsupportedMediaType', message);
  }
  if (status >= 400 && status < 500) return new ApiError('BadRequest', message);
  return new ApiError('InternalError', `Internal error occurred: ${message}`);
}

/** Fewer bytes are joined with those that follow. */
const CHUNK_BYTES = 64 * 1024;

/** The same bytes in chunks of some size; pieces that are neighbours in memory are joined without a copy. */
export function* chunksOf(pieces: Iterable<Buffer>): Generator<Buffer, void> {
  let runs: Buffer[] = [];
  let length = 0;
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last && isNeighbour(last, piece)) {
      runs[runs.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + piece.length);
    } else runs.push(piece);
    length += piece.length;
    if (length < CHUNK_BYTES) continue;
    yield joined(runs);
    runs = [];
    length = 0;
  }
  if (length > 0) yield joined(runs);
}

function isNeighbour(a: Buffer, b: Buffer): boolean {
  return a.buffer === b.buffer && a.byteOffset + a.length === b.byteOffset;
}

function joined(runs: readonly Buffer[]): Buffer {
  return runs.length === 1 ? runs[0]! : Buffer.concat(runs);
}

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
