import type { ApiObject } from './object-store.js';

/** What the beginning of an object's text, or of an event's, tells. */
export interface ObjectHead {
  /** Of an event, as `ADDED`. */
  readonly type: string | undefined;
  /** As `Service`; objects of a list have none. */
  readonly kind: string | undefined;
  readonly object: ApiObject;
}

/** A string, with the colon after it when it is a key; a bracket; or the quote of a string that is cut. */
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|["{}[\]]/g;
/** The metadata of an event's object are that deep. */
const MAX_DEPTH = 3;

/**
 * Reads the beginning of the JSON text of an object, or of an event with one, as far as it goes. The API
 * server writes kind and metadata first, and name, namespace and version before what can be large.
 */
export function readObjectHead(text: string): ObjectHead {
  const found = new Map<string, string>();
  const path: string[] = [];
  let key = '';
  for (const [token, string, colon] of text.matchAll(TOKENS)) {
    if (token === '"') break;
    if (string === undefined) {
      if (token === '{' || token === '[') path.push(key);
      else path.pop();
    } else if (path.length > MAX_DEPTH) continue;
    else if (colon !== undefined) key = unquote(string);
    else found.set([...path.slice(1), key].join('.'), unquote(string));
  }
  const type = found.get('type');
  const prefix = type === undefined ? '' : 'object.';
  const field = (name: string) => found.get(`${prefix}metadata.${name}`);
  const namespace = field('namespace');
  const name = field('name');
  const resourceVersion = field('resourceVersion');
  return {
    type,
    kind: found.get(`${prefix}kind`),
    object: {
      metadata: {
        ...(namespace !== undefined && { namespace }),
        ...(name !== undefined && { name }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
    },
  };
}

function unquote(string: string): string {
  try {
    return JSON.parse(string) as string;
  } catch {
    return ''; // an escape that is none: no name of the API has one
  }
}
