import { WireError } from './errors.js';
import { encodeKey } from './name.js';

/** A shared secret that signs messages (RFC 8945). Names are lower-cased, in wire form. */
export interface TsigKey {
  readonly name: Uint8Array;
  /** The algorithm's name on the wire. */
  readonly algorithm: Uint8Array;
  /** The same as node:crypto calls it. */
  readonly hash: string;
  readonly secret: Uint8Array;
}

/** Those of RFC 8945 section 6 that are not weak. */
const HASHES: ReadonlyMap<string, string> = new Map([
  ['hmac-sha256', 'sha256'],
  ['hmac-sha384', 'sha384'],
  ['hmac-sha512', 'sha512'],
]);
/** Text in quotes, a comment, a sign, or a word, as in named.conf. */
const TOKEN = /"([^"\n]*)"|\/\*[^]*?\*\/|(?:\/\/|#).*|[{};]|[^\s{};"#]+/g;
const BASE64 = /^(?:[\w+/-]{4})*(?:[\w+/-]{2}==|[\w+/-]{3}=)?$/;

/**
 * Reads a key file as tsig-keygen writes it and dig reads it (-k): one statement `key "name" { algorithm …; secret
 * "…"; };`. Throws a WireError with the reason, which never contains the secret.
 */
export function parseTsigKey(text: string): TsigKey {
  const words = tokens(text);
  const next = (what: string, wanted?: string): string => {
    const word = words.shift();
    if (word === undefined) throw bad(`it ends where ${what} should be`);
    if (wanted !== undefined && word !== wanted) throw bad(`${what} is missing`);
    return word;
  };
  next('the statement key', 'key');
  const name = keyName(next('the name of the key'));
  next('{ after the name', '{');
  const fields = new Map<string, string>();
  for (let field = next('}'); field !== '}'; field = next('}')) {
    if (field !== 'algorithm' && field !== 'secret')
      throw bad('it has another field than algorithm and secret');
    if (fields.has(field)) throw bad(`it has ${field} twice`);
    fields.set(field, next(`the value of ${field}`));
    next(`; after ${field}`, ';');
  }
  next('; at the end', ';');
  if (words.length > 0) throw bad('there is something after the key');
  const algorithm = (fields.get('algorithm') ?? '').toLowerCase().replace(/\.$/, '');
  const hash = HASHES.get(algorithm);
  if (hash === undefined) throw bad(`the algorithm is none of ${[...HASHES.keys()].join(', ')}`);
  const secret = fields.get('secret') ?? '';
  if (secret === '' || !BASE64.test(secret)) throw bad('the secret is missing or not base64');
  return { name, algorithm: encodeKey(algorithm), hash, secret: Buffer.from(secret, 'base64') };
}

function tokens(text: string): string[] {
  const words: string[] = [];
  for (const [token, quoted] of text.matchAll(TOKEN)) {
    if (quoted !== undefined) words.push(quoted);
    else if (!/^(?:\/\*|\/\/|#)/.test(token)) words.push(token);
  }
  return words;
}

function keyName(text: string): Uint8Array {
  try {
    return encodeKey(text);
  } catch (error) {
    throw bad((error as WireError).message);
  }
}

function bad(reason: string): WireError {
  return new WireError('bad-key', reason);
}
