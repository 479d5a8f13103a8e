import { WireError } from './errors.js';
import { HEADER_BYTES, MAX_LABEL_BYTES, MAX_NAME_BYTES } from './protocol.js';

/** The root name in wire form. */
export const ROOT_NAME: Uint8Array = Uint8Array.of(0);

const LOWER_CASE = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);
const DOT = 0x2e;
const BACKSLASH = 0x5c;
/** A name has at most 127 labels, so a longer chain has pointers to pointers. */
const MAX_POINTERS = 127;

/** Folds one byte of a name as RFC 4343 section 3 does: A–Z only. */
export function lowerCaseByte(byte: number): number {
  return LOWER_CASE[byte]!;
}

/**
 * Turns presentation text into an absolute name in wire form, with its case; a trailing dot is optional.
 * `\.`, `\\` and `\DDD` escapes as in RFC 1035 section 5.1. Throws a WireError that names the text.
 */
export function encodeName(text: string): Uint8Array {
  if (text === '.') return ROOT_NAME;
  const fail = (reason: string) =>
    new WireError('bad-name', `name ${JSON.stringify(text)}: ${reason}`);
  const out: number[] = [0];
  let lengthAt = 0;
  const source = Buffer.from(text, 'utf8');
  for (let i = 0; i < source.length; i++) {
    let byte = source[i]!;
    if (byte === DOT) {
      if (out[lengthAt] === 0) throw fail('empty label');
      lengthAt = out.length;
      out.push(0);
      continue;
    }
    if (byte === BACKSLASH) {
      const escape = /^(?:[0-9]{3}|[^0-9])/.exec(source.toString('latin1', i + 1, i + 4))?.[0];
      if (escape === undefined) throw fail('bad escape');
      byte = escape.length === 1 ? escape.charCodeAt(0) : Number(escape);
      if (byte > 255) throw fail('bad escape');
      i += escape.length;
    }
    out.push(byte);
    if (++out[lengthAt]! > MAX_LABEL_BYTES)
      throw fail(`label longer than ${MAX_LABEL_BYTES} bytes`);
  }
  if (out[lengthAt] !== 0) out.push(0);
  if (out.length === 1) throw fail('empty name');
  if (out.length > MAX_NAME_BYTES) throw fail(`longer than ${MAX_NAME_BYTES} bytes`);
  return Uint8Array.from(out);
}

/** Turns presentation text into a lower-cased name in wire form: the form that names are compared in. */
export function encodeKey(text: string): Uint8Array {
  return encodeName(text).map(lowerCaseByte);
}

/**
 * Turns an uncompressed name in wire form into presentation text without the trailing dot; the root
 * is `.`. Bytes that are not printable ASCII become `\DDD`, so the text is safe in a log line. Throws
 * a WireError for other bytes.
 */
export function decodeName(name: Uint8Array, start = 0): string {
  let text = '';
  let at = start;
  for (let length = name[at]; length !== 0; length = name[at]) {
    if (length === undefined || length > MAX_LABEL_BYTES || at + length >= name.length) {
      throw new WireError('bad-name', `no name in wire form at offset ${start}`);
    }
    if (text !== '') text += '.';
    for (let i = at + 1; i <= at + length; i++) text += presentByte(name[i]!);
    at += length + 1;
  }
  return text === '' ? '.' : text;
}

function presentByte(byte: number): string {
  if (byte === DOT || byte === BACKSLASH) return `\\${String.fromCharCode(byte)}`;
  if (byte > 0x20 && byte < 0x7f) return String.fromCharCode(byte);
  return `\\${String(byte).padStart(3, '0')}`;
}

/** How many bytes an uncompressed name in wire form takes, whatever follows it. */
export function nameBytes(name: Uint8Array): number {
  let at = 0;
  while (name[at] !== 0) at += name[at]! + 1;
  return at + 1;
}

/** Whether two uncompressed names in wire form are equal but for ASCII case (RFC 4343). */
export function equalNames(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let i = 0; i < left.length; i++) {
    if (LOWER_CASE[left[i]!] !== LOWER_CASE[right[i]!]) return false;
  }
  return true;
}

/**
 * Finds where `suffix` starts inside the first `length` bytes of `name`, at a label boundary; -1 when
 * the name is neither the suffix nor below it. Both are lower-cased, in wire form, root label included.
 */
export function suffixOffset(name: Uint8Array, length: number, suffix: Uint8Array): number {
  const start = length - suffix.length;
  if (start < 0) return -1;
  let at = 0;
  while (at < start) at += name[at]! + 1;
  if (at !== start) return -1;
  for (let i = 0; i < suffix.length; i++) {
    if (name[start + i] !== suffix[i]) return -1;
  }
  return start;
}

/** Whether the first `length` bytes of `name` are a name at or below `zone`; both as in {@link suffixOffset}. */
export function isInZone(name: Uint8Array, length: number, zone: Uint8Array): boolean {
  return suffixOffset(name, length, zone) >= 0;
}

/** Puts labels (UTF-8 text, no escapes) before a name in wire form; throws a WireError when too long. */
export function prependLabels(labels: readonly string[], name: Uint8Array): Uint8Array {
  const parts = labels.map((label) => Buffer.from(label, 'utf8'));
  let length = name.length;
  for (const [i, bytes] of parts.entries()) {
    const label = labels[i]!;
    length += 1 + bytes.length;
    if (bytes.length === 0 || bytes.length > MAX_LABEL_BYTES) {
      throw new WireError(
        'bad-name',
        `label ${JSON.stringify(label)}: must have 1 to ${MAX_LABEL_BYTES} bytes`,
      );
    }
  }
  if (length > MAX_NAME_BYTES) {
    throw new WireError(
      'bad-name',
      `name ${labels.join('.')}…: longer than ${MAX_NAME_BYTES} bytes`,
    );
  }
  const joined = new Uint8Array(length);
  let at = 0;
  for (const bytes of parts) {
    joined[at] = bytes.length;
    joined.set(bytes, at + 1);
    at += 1 + bytes.length;
  }
  joined.set(name, at);
  return joined;
}

/**
 * Steps over a possibly compressed name at `at` without following its pointer; returns the offset
 * after it, or -1 when it does not end before `end`.
 */
export function skipName(bytes: Uint8Array, at: number, end: number): number {
  while (at < end) {
    const length = bytes[at]!;
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2 <= end ? at + 2 : -1;
    if (length > MAX_LABEL_BYTES) return -1;
    at += length + 1;
  }
  return -1;
}

/**
 * Copies a possibly compressed name, with its case, into `out` (255 bytes or more) and returns its length
 * there; -1 when it is malformed. Pointers must go backwards (RFC 1035 section 4.1.4), so no loop; and
 * a long chain of pointers to pointers counts as malformed.
 */
export function expandName(bytes: Uint8Array, at: number, end: number, out: Uint8Array): number {
  let written = 0;
  let lowest = at;
  let pointersLeft = MAX_POINTERS;
  while (at < end) {
    const length = bytes[at]!;
    if (length >= 0xc0) {
      if (at + 1 >= end || pointersLeft-- === 0) return -1;
      const target = ((length & 0x3f) << 8) | bytes[at + 1]!;
      if (target >= lowest || target < HEADER_BYTES) return -1;
      lowest = at = target;
      continue;
    }
    if (length > MAX_LABEL_BYTES) return -1;
    if (written + length + 1 > MAX_NAME_BYTES || at + length + 1 > end) return -1;
    for (let i = 0; i <= length; i++) out[written + i] = bytes[at + i]!;
    written += length + 1;
    if (length === 0) return written;
    at += length + 1;
  }
  return -1;
}

/** Copies a name as {@link expandName} does, lower-cased: as caches and routes compare it. */
export function expandKey(bytes: Uint8Array, at: number, end: number, out: Uint8Array): number {
  const length = expandName(bytes, at, end, out);
  for (let i = 0; i < length; i++) out[i] = lowerCaseByte(out[i]!);
  return length;
}
