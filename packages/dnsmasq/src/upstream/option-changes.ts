import {
  MAX_MESSAGE_BYTES,
  type Query,
  readUint16,
  RecordCursor,
  SECTION,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** A change of one EDNS option of a query. */
export interface OptionChange {
  readonly code: number;
  /** Undefined removes the option. */
  readonly data: Uint8Array | undefined;
  /** Replaces an option of the client; otherwise the client's stays and nothing is added. */
  readonly replaces: boolean;
}

const OPT_FIXED_BYTES = 11;
const OPTION_HEAD_BYTES = 4;
/** The largest UDP message for a client without EDNS (RFC 1035 section 4.2.1). */
const CLASSIC_BYTES = 512;
/** Transaction signatures (RFC 2931, RFC 8945): a signed message cannot be changed. */
const SIGNATURE_TYPES: ReadonlySet<number> = new Set([24, 250]);

/** The offsets of a message's OPT record; -1 without one. */
interface OptPlace {
  readonly start: number;
  readonly rdataStart: number;
  readonly end: number;
  /** The end of the last record. */
  readonly messageEnd: number;
}

/**
 * Writes a query with changed EDNS options to `out` and returns its length. The OPT record is moved to
 * the end, or added when there is none and an option is added. Returns 0, and the query is to be sent
 * unchanged, when nothing changes, when it is signed, or when it does not fit.
 */
export function writeChanged(
  query: Query,
  changes: readonly OptionChange[],
  out: Uint8Array,
): number {
  const place = findOpt(query.bytes, query.length);
  if (place === undefined) return 0;
  const { start, rdataStart, end, messageEnd } = place;
  const hasOpt = start >= 0;
  const options = hasOpt ? changed(query.bytes.subarray(rdataStart, end), changes) : added(changes);
  if (options === undefined) return 0;
  const bodyBytes = messageEnd - (hasOpt ? end - start : 0);
  const length = bodyBytes + OPT_FIXED_BYTES + options.length;
  if (length > Math.min(out.length, MAX_MESSAGE_BYTES)) return 0;
  if (hasOpt) {
    out.set(query.bytes.subarray(0, start));
    out.set(query.bytes.subarray(end, messageEnd), start);
    out.set(query.bytes.subarray(start, rdataStart), bodyBytes);
  } else {
    out.set(query.bytes.subarray(0, messageEnd));
    out.fill(0, bodyBytes, bodyBytes + OPT_FIXED_BYTES);
    writeUint16(out, bodyBytes + 1, TYPE.OPT);
    writeUint16(out, bodyBytes + 3, CLASSIC_BYTES);
    writeUint16(out, 10, readUint16(out, 10) + 1);
  }
  writeUint16(out, bodyBytes + 9, options.length);
  out.set(options, bodyBytes + OPT_FIXED_BYTES);
  return length;
}

/** The data of the first option of a code in a message's OPT record; undefined where there is none. */
export function findOption(
  message: Uint8Array,
  length: number,
  code: number,
): Uint8Array | undefined {
  const place = findOpt(message, length);
  if (place === undefined || place.start < 0) return undefined;
  const options = message.subarray(place.rdataStart, place.end);
  for (const option of optionsOf(options)) if (codeOf(option) === code) return dataOf(option);
  return undefined;
}

/** Undefined for a message that is signed or malformed. */
function findOpt(message: Uint8Array, length: number): OptPlace | undefined {
  let place = { start: -1, rdataStart: -1, end: -1 };
  const cursor = new RecordCursor().reset(message, length);
  while (cursor.next()) {
    if (cursor.section !== SECTION.ADDITIONAL) continue;
    if (SIGNATURE_TYPES.has(cursor.type)) return undefined;
    if (cursor.type === TYPE.OPT) {
      place = { start: cursor.start, rdataStart: cursor.rdataStart, end: cursor.end };
    }
  }
  return cursor.isMalformed() ? undefined : { ...place, messageEnd: cursor.end };
}

/** The options after these changes; undefined when they are the same. */
function changed(options: Uint8Array, changes: readonly OptionChange[]): Buffer | undefined {
  const before = [...optionsOf(options)];
  const isThere = (code: number) => before.some((option) => codeOf(option) === code);
  const gone = new Set(changes.filter(({ replaces }) => replaces).map(({ code }) => code));
  const retained = before.filter((option) => !gone.has(codeOf(option)));
  const more = changes.filter(({ code, replaces }) => replaces || !isThere(code)).flatMap(encoded);
  if (retained.length === before.length && more.length === 0) return undefined;
  return Buffer.concat([...retained, ...more]);
}

function added(changes: readonly OptionChange[]): Buffer | undefined {
  const more = changes.flatMap(encoded);
  return more.length === 0 ? undefined : Buffer.concat(more);
}

function encoded({ code, data }: OptionChange): Buffer[] {
  if (data === undefined) return [];
  const head = Buffer.alloc(OPTION_HEAD_BYTES);
  writeUint16(head, 0, code);
  writeUint16(head, 2, data.length);
  return [Buffer.concat([head, data])];
}

/** Each option with its head; none where one of them does not fit (RFC 6891 section 6.1.2). */
function optionsOf(options: Uint8Array): readonly Uint8Array[] {
  const all: Uint8Array[] = [];
  for (let at = 0; at + OPTION_HEAD_BYTES <= options.length;) {
    const end = at + OPTION_HEAD_BYTES + readUint16(options, at + 2);
    if (end > options.length) return [];
    all.push(options.subarray(at, end));
    at = end;
  }
  return all;
}

function codeOf(option: Uint8Array): number {
  return readUint16(option, 0);
}

function dataOf(option: Uint8Array): Uint8Array {
  return option.subarray(OPTION_HEAD_BYTES);
}
