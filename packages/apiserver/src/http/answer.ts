import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { errorText } from '@kube-dns/base';
import { ApiError, httpStatusOf, STATUS_CODES, type StatusDetails } from '../errors.js';
import type { KubeObject } from '../object.js';
import { apiVersionOf, type ResourceKind } from '../resources/resource-kind.js';

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
  const message = errorText(error);
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

/**
 * The JSON of each object that was in a list, with a comma before it. Stored objects are never
 * changed in place, so it is valid as long as the object exists: further lists of a large cluster
 * need no serialization and are written without a copy.
 */
const ITEMS = new WeakMap<KubeObject, Buffer>();

/**
 * Items share memory in slabs. With a separate buffer for each of 50,000 items, or a copy of each
 * page, the garbage collector runs every 100 ms for half a second of CPU (measured).
 */
const SLAB_BYTES = 256 * 1024;
let slab: Buffer = Buffer.alloc(0);

const LIST_END = Buffer.from(']}\n');

/** A value as JSON on one line, as the only piece of an answer. */
function jsonLine(value: object): Buffer[] {
  return [Buffer.from(`${JSON.stringify(value)}\n`)];
}

function itemBytes(object: KubeObject): Buffer {
  const cached = ITEMS.get(object);
  if (cached) return cached;
  // Items of typed lists have no `apiVersion` and `kind`.
  const text = `,${JSON.stringify({ ...object, apiVersion: undefined, kind: undefined })}`;
  const length = Buffer.byteLength(text);
  if (length > slab.length) slab = Buffer.allocUnsafeSlow(Math.max(length, SLAB_BYTES));
  slab.write(text);
  const bytes = slab.subarray(0, length);
  slab = slab.subarray(length);
  ITEMS.set(object, bytes);
  return bytes;
}

/** The JSON of a list in pieces, made as they are taken: the fields of `head`, then the objects as `items`. */
function* encodeList(head: object, objects: readonly KubeObject[]): Generator<Buffer, void> {
  yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"items":[`);
  for (const [i, object] of objects.entries()) {
    const bytes = itemBytes(object);
    yield i === 0 ? bytes.subarray(1) : bytes;
  }
  yield LIST_END;
}

/** What a bookmark has beside its metadata, by kind: the fields of a type of Go that are never left out. */
const EMPTY_FIELDS: Readonly<Record<string, object>> = {
  EndpointSlice: { addressType: '', endpoints: null, ports: null },
  Namespace: { spec: {}, status: {} },
  Node: { spec: {}, status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } } } },
  Pod: { spec: { containers: null }, status: {} },
  Service: { spec: {}, status: { loadBalancer: {} } },
};

const META_V1 = 'meta.k8s.io/v1';

/** `metav1.ListMeta`. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** What a bookmark has of `metav1.ObjectMeta`. */
interface BookmarkMetadata {
  readonly resourceVersion: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The form of the objects in the answer to one request. */
export interface Representation {
  one(object: KubeObject): unknown;
  /** The JSON of a list, in pieces that are made as they are taken. */
  list(objects: readonly KubeObject[], meta: ListMeta): Iterable<Buffer>;
  /** One object of a watch. Unlike `one`, a table describes its columns only the first time. */
  watched(object: KubeObject): unknown;
  /** An object that has only this metadata. */
  bookmark(metadata: BookmarkMetadata): unknown;
}

type Format = 'Object' | 'Table' | 'Metadata';

/** One alternative of an `Accept` header; `q` is ignored, as clients send them by preference. */
function formatOf(alternative: string): Format | undefined {
  const [type = '', ...parameters] = alternative.split(';').map((part) => part.trim());
  if (!['application/json', 'application/*', '*/*'].includes(type.toLowerCase())) return undefined;
  const values = new Map(parameters.map((text) => text.split('=', 2) as [string, string]));
  const as = values.get('as');
  if (as === undefined) return 'Object';
  if (values.get('g') !== 'meta.k8s.io' || values.get('v') !== 'v1') return undefined;
  if (as === 'Table') return 'Table';
  return as.startsWith('PartialObjectMetadata') ? 'Metadata' : undefined;
}

function negotiate(accept: string | undefined): Format {
  if (!accept) return 'Object';
  for (const alternative of accept.split(',')) {
    const format = formatOf(alternative);
    if (format) return format;
  }
  throw new ApiError(
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/json;as=Table;g=meta.k8s.io;v=v1',
  );
}

function plain(kind: ResourceKind): Representation {
  const apiVersion = apiVersionOf(kind);
  return {
    one: (object) => object,
    list: (objects, metadata) =>
      encodeList({ kind: `${kind.kind}List`, apiVersion, metadata }, objects),
    watched: (object) => object,
    bookmark: (metadata) => ({
      kind: kind.kind,
      apiVersion,
      metadata,
      ...EMPTY_FIELDS[kind.kind],
    }),
  };
}

function partialObject({ metadata }: { readonly metadata: object }): object {
  return { kind: 'PartialObjectMetadata', apiVersion: META_V1, metadata };
}

const PARTIAL: Representation = {
  one: partialObject,
  list(objects, metadata) {
    const kind = 'PartialObjectMetadataList';
    return jsonLine({ kind, apiVersion: META_V1, metadata, items: objects.map(partialObject) });
  },
  watched: partialObject,
  bookmark: (metadata) => partialObject({ metadata }),
};

/** `metav1.Table`: objects as rows of printable cells; `include` is how much of each object a row has. */
function tabular(kind: ResourceKind, include: string | null, clock: () => number): Representation {
  const columnDefinitions = kind.columns.map(({ name, type, priority, description }) => ({
    name,
    type,
    priority,
    description,
    format: name === 'Name' ? 'name' : '',
  }));
  const included = (object: KubeObject) => {
    if (include === 'None') return undefined;
    return include === 'Object' ? object : partialObject(object);
  };
  const table = (objects: readonly KubeObject[], metadata: object, withColumns = true) => {
    const now = clock();
    return {
      kind: 'Table',
      apiVersion: META_V1,
      metadata,
      columnDefinitions: withColumns ? columnDefinitions : [],
      rows: objects.map((object) => ({
        cells: kind.columns.map((column) => column.cell(object, now)),
        object: included(object),
      })),
    };
  };
  let hasSentColumns = false;
  return {
    one: (object) => table([object], { resourceVersion: object.metadata.resourceVersion }),
    list: (objects, metadata) => jsonLine(table(objects, metadata)),
    watched(object) {
      const { resourceVersion } = object.metadata;
      const result = table([object], { resourceVersion }, !hasSentColumns);
      hasSentColumns = true;
      return result;
    },
    bookmark: ({ resourceVersion }) => table([], { resourceVersion }, false),
  };
}

/**
 * Chooses how to answer from the `Accept` header: objects, tables or metadata only.
 * Throws a 406 when the client takes none of them.
 */
export function createRepresentation(
  kind: ResourceKind,
  accept: string | undefined,
  query: URLSearchParams,
  clock: () => number,
): Representation {
  switch (negotiate(accept)) {
    case 'Object':
      return plain(kind);
    case 'Metadata':
      return PARTIAL;
    case 'Table':
      return tabular(kind, query.get('includeObject'), clock);
  }
}
