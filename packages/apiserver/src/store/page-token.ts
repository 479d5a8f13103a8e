import { ApiError } from '../errors.js';
import { isJsonObject } from '../object.js';

/** Where the next page of a list begins: after this key, in the state at this version. */
export interface PageToken {
  readonly revision: number;
  readonly after: string;
}

/** The `continue` text of a position in a list. */
export function encodePageToken(token: PageToken): string {
  return Buffer.from(JSON.stringify({ v: 1, ...token })).toString('base64url');
}

/** Parses a `continue` text. Throws a 400 when this server did not create it. */
export function parsePageToken(text: string): PageToken {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (isJsonObject(value) && value.v === 1) {
      const { revision, after } = value;
      if (typeof revision === 'number' && typeof after === 'string') return { revision, after };
    }
  } catch {
    // not JSON: refused below, as every other text that is no token
  }
  throw new ApiError('BadRequest', 'continue key is not valid');
}
