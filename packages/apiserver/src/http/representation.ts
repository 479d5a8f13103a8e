import { ApiError } from '../errors.js';
import type { KubeObject } from '../object.js';
import { apiVersionOf, type ResourceKind } from '../resources/resource-kind.js';
import { emptyFields } from './empty-object.js';
import { encodeList } from './item-bytes.js';
import { createTable, type IncludeObject } from './table.js';

/** `metav1.ListMeta`. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** What a bookmark has of `metav1.ObjectMeta`. */
export interface BookmarkMetadata {
  readonly resourceVersion: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A list as pieces of JSON, or as a value to be encoded as JSON. */
export type ListBody = { readonly pieces: Iterable<Buffer> } | { readonly value: object };

/** The form of the objects in the answer to one request. */
export interface Representation {
  one(object: KubeObject): unknown;
  list(objects: readonly KubeObject[], meta: ListMeta): ListBody;
  /** One object of a watch. Unlike `one`, a table describes its columns only the first time. */
  watched(object: KubeObject): unknown;
  /** An object that has only this metadata. */
  bookmark(metadata: BookmarkMetadata): unknown;
}

const META_V1 = 'meta.k8s.io/v1';

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
    list: (objects, metadata) => ({
      pieces: encodeList({ kind: `${kind.kind}List`, apiVersion, metadata }, objects),
    }),
    watched: (object) => object,
    bookmark: (metadata) => ({ kind: kind.kind, apiVersion, metadata, ...emptyFields(kind.kind) }),
  };
}

function partial(): Representation {
  const one = ({ metadata }: KubeObject) => ({
    kind: 'PartialObjectMetadata',
    apiVersion: META_V1,
    metadata,
  });
  return {
    one,
    list: (objects, metadata) => ({
      value: {
        kind: 'PartialObjectMetadataList',
        apiVersion: META_V1,
        metadata,
        items: objects.map(one),
      },
    }),
    watched: one,
    bookmark: (metadata) => ({ kind: 'PartialObjectMetadata', apiVersion: META_V1, metadata }),
  };
}

function tabular(kind: ResourceKind, include: IncludeObject, clock: () => number): Representation {
  let hasSentColumns = false;
  const table = (objects: readonly KubeObject[], metadata: object, withColumns = true) =>
    createTable(kind, objects, { metadata, include, withColumns, now: clock() });
  return {
    one: (object) => table([object], { resourceVersion: object.metadata.resourceVersion }),
    list: (objects, metadata) => ({ value: table(objects, metadata) }),
    watched(object) {
      const { resourceVersion } = object.metadata;
      const result = table([object], { resourceVersion }, !hasSentColumns);
      hasSentColumns = true;
      return result;
    },
    bookmark: ({ resourceVersion }) => table([], { resourceVersion }, false),
  };
}

function parseInclude(text: string | null): IncludeObject {
  if (text === 'Object' || text === 'None') return text;
  return 'Metadata';
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
      return partial();
    case 'Table':
      return tabular(kind, parseInclude(query.get('includeObject')), clock);
  }
}
