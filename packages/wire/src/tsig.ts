import { createHmac, timingSafeEqual } from 'node:crypto';
import { readUint16, readUint32, writeUint16, writeUint32 } from './bytes.js';
import { WireError } from './errors.js';
import { encodeKey, equalNames, expandKey } from './name.js';
import { CLASS, MAX_NAME_BYTES, MAX_LABEL_BYTES, RCODE, TSIG_ERROR, TYPE } from './protocol.js';
import { RecordCursor, SECTION } from './record-cursor.js';

/** The signature of a message (RFC 8945 section 4.2); names are lower-cased, in wire form. */
export interface Tsig {
  /** Where its record begins: what precedes it is signed. */
  readonly start: number;
  readonly keyName: Uint8Array;
  readonly algorithm: Uint8Array;
  /** Seconds since the epoch. */
  readonly timeSeconds: number;
  readonly fudgeSeconds: number;
  readonly mac: Uint8Array;
  /** The message's ID when it was signed. */
  readonly originalId: number;
  readonly error: number;
  readonly other: Uint8Array;
}

/** How a message is signed. */
export interface Signing {
  readonly timeSeconds: number;
  /** Of the request that the message responds to. */
  readonly requestMac?: Uint8Array;
  /** One of TSIG_ERROR. */
  readonly error?: number;
  /** With BADTIME: the server's time in seconds. */
  readonly serverTimeSeconds?: number;
}

/** How far the clocks of both may be apart (RFC 8945 section 10), whatever more the signer allows. */
const FUDGE_SECONDS = 300;
const TIME_BYTES = 6;
/** Time and fudge, then the MAC with its length, then these: the original ID, the error, the length of other data. */
const BEFORE_MAC_BYTES = TIME_BYTES + 2 + 2;
const AFTER_MAC_BYTES = 6;
const RECORD_FIXED_BYTES = 10;
/** No MAC may be cut below this (RFC 8945 section 5.2.2.1). */
const MIN_MAC_BYTES = 10;
const NOTHING = new Uint8Array(0);

/**
 * The signature of a message; `none` when it has no TSIG, `malformed` when it has one that is not the last record, is
 * not alone, or cannot be read (RFC 8945 section 5.1). Nothing is copied but names.
 */
export function readTsig(message: Uint8Array): Tsig | 'none' | 'malformed' {
  const cursor = new RecordCursor().reset(message, message.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.TSIG) continue;
    const { section, start, typeAt, rdataStart, end, ttlAt } = cursor;
    const isValid = cursor.class === CLASS.ANY && readUint32(message, ttlAt) === 0;
    const isLast = section === SECTION.ADDITIONAL && !cursor.next() && !cursor.isMalformed();
    if (!isValid || !isLast) return 'malformed';
    return readRecord(message, { start, typeAt, rdataStart, end }) ?? 'malformed';
  }
  return cursor.isMalformed() ? 'malformed' : 'none';
}

/**
 * Checks a signature in the order of RFC 8945 section 5.2: the key, the MAC, the time. Returns NOERROR; FORMERR for a
 * MAC of a length that no message may have; or one of TSIG_ERROR. `requestMac` is that of the request, for a response.
 */
export function checkTsig(
  message: Uint8Array,
  tsig: Tsig,
  key: TsigKey,
  nowSeconds: number,
  requestMac?: Uint8Array,
): number {
  const isKnown = equalNames(tsig.keyName, key.name) && equalNames(tsig.algorithm, key.algorithm);
  if (!isKnown) return TSIG_ERROR.BADKEY;
  const { mac, start } = tsig;
  const head = Uint8Array.from(message.subarray(0, start));
  writeUint16(head, 0, tsig.originalId);
  writeUint16(head, 10, readUint16(head, 10) - 1);
  const expected = macOf(key, head, requestMac, variablesOf(tsig));
  if (mac.length > expected.length) return RCODE.FORMERR;
  if (mac.length < Math.max(MIN_MAC_BYTES, expected.length / 2)) return RCODE.FORMERR;
  if (!timingSafeEqual(mac, expected.subarray(0, mac.length))) return TSIG_ERROR.BADSIG;
  if (mac.length < expected.length) return TSIG_ERROR.BADTRUNC;
  const fudgeSeconds = Math.min(tsig.fudgeSeconds, FUDGE_SECONDS);
  const isInTime = Math.abs(nowSeconds - tsig.timeSeconds) <= fudgeSeconds;
  return isInTime ? RCODE.NOERROR : TSIG_ERROR.BADTIME;
}

/** Signs the message of `length` bytes in `out`, which has space for 400 more and the key's name; returns the new length. */
export function signMessage(
  out: Uint8Array,
  length: number,
  key: TsigKey,
  signing: Signing,
): number {
  const fields = signedFields(key, out, signing);
  const mac = macOf(key, out.subarray(0, length), signing.requestMac, variablesOf(fields));
  return append(out, length, { ...fields, mac });
}

function signedFields(
  { name: keyName, algorithm }: TsigKey,
  message: Uint8Array,
  { timeSeconds, error = RCODE.NOERROR, serverTimeSeconds }: Signing,
): Omit<Tsig, 'start' | 'mac'> {
  return {
    keyName,
    algorithm,
    timeSeconds,
    fudgeSeconds: FUDGE_SECONDS,
    originalId: readUint16(message, 0),
    error,
    other: serverTimeSeconds === undefined ? NOTHING : timeBytes(serverTimeSeconds),
  };
}

/**
 * Signs the messages of one answer, in their order (RFC 8945 section 5.3.1): the first with the MAC of the request, each other
 * one with that of the message before it and without what does not change.
 */
export class AnswerSigner {
  readonly #key: TsigKey;
  #mac: Uint8Array;
  #isFirst = true;

  constructor(key: TsigKey, requestMac: Uint8Array) {
    this.#key = key;
    this.#mac = Uint8Array.from(requestMac);
  }

  /** Signs the message of `length` bytes in `out`, with space as for `signMessage`; returns the new length. */
  sign(out: Uint8Array, length: number, timeSeconds: number): number {
    const fields = signedFields(this.#key, out, { timeSeconds });
    const variables = this.#isFirst ? variablesOf(fields) : timersOf(fields);
    this.#isFirst = false;
    this.#mac = macOf(this.#key, out.subarray(0, length), this.#mac, variables);
    return append(out, length, { ...fields, mac: this.#mac });
  }
}

/** Adds an error to the response to a request whose key or MAC is wrong: it is not signed (RFC 8945 section 5.3.2). */
export function refuseTsig(out: Uint8Array, length: number, request: Tsig, error: number): number {
  return append(out, length, { ...request, mac: NOTHING, error, other: NOTHING });
}

/** The offsets of a record. */
type RecordPlace = Pick<RecordCursor, 'start' | 'typeAt' | 'rdataStart' | 'end'>;

function readRecord(
  message: Uint8Array,
  { start, typeAt, rdataStart, end }: RecordPlace,
): Tsig | undefined {
  const keyName = nameAt(message, start, typeAt);
  const algorithm = nameAt(message, rdataStart, end, false);
  if (keyName === undefined || algorithm === undefined) return undefined;
  const at = rdataStart + algorithm.length;
  if (at + BEFORE_MAC_BYTES > end) return undefined;
  const macAt = at + BEFORE_MAC_BYTES;
  const macEnd = macAt + readUint16(message, macAt - 2);
  if (macEnd + AFTER_MAC_BYTES > end) return undefined;
  const otherAt = macEnd + AFTER_MAC_BYTES;
  if (otherAt + readUint16(message, macEnd + 4) !== end) return undefined;
  return {
    start,
    keyName,
    algorithm,
    timeSeconds: readUint16(message, at) * 0x1_0000_0000 + readUint32(message, at + 2),
    fudgeSeconds: readUint16(message, at + TIME_BYTES),
    mac: message.subarray(macAt, macEnd),
    originalId: readUint16(message, macEnd),
    error: readUint16(message, macEnd + 2),
    other: message.subarray(otherAt, end),
  };
}

/** A name in lower case. Undefined when it is malformed, or compressed where it must not be (section 4.2). */
function nameAt(
  message: Uint8Array,
  at: number,
  end: number,
  mayBeCompressed = true,
): Uint8Array | undefined {
  if (!mayBeCompressed) {
    for (let next = at; next < end && message[next] !== 0; next += 1 + message[next]!) {
      if (message[next]! > MAX_LABEL_BYTES) return undefined;
    }
  }
  const name = new Uint8Array(MAX_NAME_BYTES);
  const length = expandKey(message, at, end, name);
  return length < 0 ? undefined : name.subarray(0, length);
}

/** What of the record is signed (RFC 8945 section 4.3.3). */
function variablesOf(fields: Omit<Tsig, 'start' | 'mac' | 'originalId'>): Uint8Array {
  const { keyName, algorithm, timeSeconds, fudgeSeconds, error, other } = fields;
  const numbers = new Uint8Array(TIME_BYTES + 6);
  numbers.set(timeBytes(timeSeconds));
  writeUint16(numbers, TIME_BYTES, fudgeSeconds);
  writeUint16(numbers, TIME_BYTES + 2, error);
  writeUint16(numbers, TIME_BYTES + 4, other.length);
  // Class ANY and a TTL of 0.
  const head = Uint8Array.of(0, CLASS.ANY, 0, 0, 0, 0);
  return Buffer.concat([keyName, head, algorithm, numbers, other]);
}

/** What of the record is signed in a message that is not the first of its answer. */
function timersOf({ timeSeconds, fudgeSeconds }: Pick<Tsig, 'timeSeconds' | 'fudgeSeconds'>) {
  const timers = new Uint8Array(TIME_BYTES + 2);
  timers.set(timeBytes(timeSeconds));
  writeUint16(timers, TIME_BYTES, fudgeSeconds);
  return timers;
}

function macOf(
  { hash, secret }: TsigKey,
  message: Uint8Array,
  requestMac: Uint8Array | undefined,
  variables: Uint8Array,
): Uint8Array {
  const hmac = createHmac(hash, secret);
  if (requestMac !== undefined) {
    hmac.update(Uint8Array.of(requestMac.length >>> 8, requestMac.length)).update(requestMac);
  }
  return hmac.update(message).update(variables).digest();
}

function append(out: Uint8Array, length: number, tsig: Omit<Tsig, 'start'>): number {
  const { keyName, algorithm, timeSeconds, fudgeSeconds, mac, originalId, error, other } = tsig;
  let at = length;
  out.set(keyName, at);
  at += keyName.length;
  writeUint16(out, at, TYPE.TSIG);
  writeUint16(out, at + 2, CLASS.ANY);
  writeUint32(out, at + 4, 0);
  const rdataBytes =
    algorithm.length + BEFORE_MAC_BYTES + mac.length + AFTER_MAC_BYTES + other.length;
  writeUint16(out, at + 8, rdataBytes);
  at += RECORD_FIXED_BYTES;
  out.set(algorithm, at);
  at += algorithm.length;
  out.set(timeBytes(timeSeconds), at);
  writeUint16(out, at + TIME_BYTES, fudgeSeconds);
  writeUint16(out, at + TIME_BYTES + 2, mac.length);
  out.set(mac, at + BEFORE_MAC_BYTES);
  at += BEFORE_MAC_BYTES + mac.length;
  writeUint16(out, at, originalId);
  writeUint16(out, at + 2, error);
  writeUint16(out, at + 4, other.length);
  out.set(other, at + AFTER_MAC_BYTES);
  writeUint16(out, 10, readUint16(out, 10) + 1);
  return at + AFTER_MAC_BYTES + other.length;
}

function timeBytes(seconds: number): Uint8Array {
  const bytes = new Uint8Array(TIME_BYTES);
  writeUint16(bytes, 0, Math.floor(seconds / 0x1_0000_0000));
  writeUint32(bytes, 2, seconds % 0x1_0000_0000);
  return bytes;
}

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
