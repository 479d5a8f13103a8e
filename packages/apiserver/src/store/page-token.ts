import { posix } from 'node:path';
import { ApiError } from '../errors.js';
import { isJsonObject } from '../object.js';

/** Where the next page of a list begins. Source: storage continueToken. */
export interface PageToken {
  /** The version whose state the list shows; negative: the present one. */
  readonly revision: number;
  /** The least key of the page, without the prefix that all keys of the list have. */
  readonly start: string;
}

const VERSION = 'meta.k8s.io/v1';

/** The `continue` text of a position in a list. */
export function encodePageToken({ revision, start }: PageToken): string {
  const value = { v: VERSION, rv: revision, start: `/${start}` };
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Parses a `continue` text. Throws a 400 when it is not valid. */
export function parsePageToken(text: string): PageToken {
  const value = parse(text);
  if (!isJsonObject(value)) throw refusal('');
  const { v, rv, start } = value;
  if (v !== VERSION) {
    const version = typeof v === 'string' ? v : '';
    throw refusal(`: server does not recognize this encoded version ${version}`);
  }
  if (!Number.isSafeInteger(rv) || rv === 0) {
    throw refusal(`: incorrect encoded start resourceVersion (version ${VERSION})`);
  }
  if (typeof start !== 'string' || start === '') {
    throw refusal(`: encoded start key empty (version ${VERSION})`);
  }
  const path = start.startsWith('/') ? start : `/${start}`;
  if (posix.resolve(path) !== path) throw refusal(`: ${start}`);
  return { revision: Number(rv), start: path.slice(1) };
}

function parse(text: string): unknown {
  if (!/^[\w-]*$/.test(text)) return undefined;
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function refusal(why: string): ApiError {
  return new ApiError('BadRequest', `invalid continue token: continue key is not valid${why}`);
}
