import { FNV_OFFSET, hashByte, hashBytes, hexValue, parseAddress, TYPE } from '@kube-dns/wire';
import { IPV4_BYTES } from '../watch/projections.js';

/** Maximum bytes of a label, its length byte included. */
export const MAX_LABEL_BYTES = 64;
const MAX_LABELS = 127;
const STAR = 0x2a;
const UNDERSCORE = 0x5f;
const HYPHEN = 0x2d;
const DIGIT_0 = 0x30;
const LETTER_A = 0x61;
const COLON = 0x3a;
const HEX = '0123456789abcdef';
const IPV6_GROUPS = 8;

/** The labels of a name before the apex of a zone. One instance is reused for every question. */
export class ZoneName {
  /** Lower-cased, in wire form, up to `length`. */
  bytes: Uint8Array = new Uint8Array(1);
  length = 1;
  /** Where the apex begins. */
  apexAt = 0;
  /** Number of labels before the apex. */
  count = 0;
  hasWildcard = false;
  readonly #starts = new Uint8Array(MAX_LABELS);

  /** Reads a name whose apex begins at `apexAt`. */
  read(bytes: Uint8Array, length: number, apexAt: number): void {
    this.bytes = bytes;
    this.length = length;
    this.apexAt = apexAt;
    this.count = 0;
    this.hasWildcard = false;
    for (let at = 0; at < apexAt; at += bytes[at]! + 1) {
      this.#starts[this.count++] = at;
      if (bytes[at] === 1 && bytes[at + 1] === STAR) this.hasWildcard = true;
    }
  }

  /** Removes the first label. */
  dropFirst(): void {
    this.count--;
    this.#starts.copyWithin(0, 1);
  }

  /** The offset of a label's length byte; 0 is the label next to the apex. */
  startOf(fromApex: number): number {
    return this.#starts[this.count - 1 - fromApex]!;
  }

  /** Whether a label is this text, in lower case; 0 is the label next to the apex. */
  is(fromApex: number, text: string): boolean {
    return isLabel(text, this.bytes, this.startOf(fromApex));
  }

  isWildcard(fromApex: number): boolean {
    const at = this.startOf(fromApex);
    return this.bytes[at] === 1 && this.bytes[at + 1] === STAR;
  }

  /** Whether a label begins with an underscore, as those of ports and protocols do. */
  isService(fromApex: number): boolean {
    const at = this.startOf(fromApex);
    return this.bytes[at]! > 1 && this.bytes[at + 1] === UNDERSCORE;
  }

  /** Whether a label can be the name of an object: of letters, digits and hyphens, none of these at its ends (RFC 1123). */
  isDnsLabel(fromApex: number): boolean {
    const { bytes } = this;
    const start = this.startOf(fromApex) + 1;
    const last = start + bytes[start - 1]! - 1;
    if (bytes[start] === HYPHEN || bytes[last] === HYPHEN) return false;
    for (let at = start; at <= last; at++) {
      const byte = bytes[at]!;
      const isLetter = byte >= LETTER_A && byte < LETTER_A + 26;
      if (!isLetter && byte !== HYPHEN && !(byte >= DIGIT_0 && byte < DIGIT_0 + 10)) return false;
    }
    return true;
  }

  /** The text of a label; for what is not on the way of every query. */
  text(fromApex: number): string {
    const at = this.startOf(fromApex);
    return Buffer.from(this.bytes.subarray(at + 1, at + 1 + this.bytes[at]!)).toString('latin1');
  }
}

/** Whether the label at `at`, lower-cased in wire form, is this text. */
export function isLabel(text: string, name: Uint8Array, at: number): boolean {
  if (name[at] !== text.length) return false;
  for (let i = 0; i < text.length; i++) {
    if (name[at + 1 + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}

/** Writes a label, its length byte first; returns the bytes written. */
export function writeTextLabel(text: string, out: Uint8Array, at: number): number {
  out[at] = text.length;
  for (let i = 0; i < text.length; i++) out[at + 1 + i] = text.charCodeAt(i);
  return text.length + 1;
}

/**
 * The address that the first label of a pod's name encodes: `10-0-0-1`, or IPv6 with `-` for `:`.
 * Undefined when it encodes none; letters must be lower case.
 * After kubernetes/dns pkg/dns/dns.go (isPodRecord), where only IPv4 worked.
 */
export function podAddress(label: string): Uint8Array | undefined {
  if (!/^[0-9a-f-]+$/.test(label)) return undefined;
  return parseAddress(label.replaceAll('-', '.')) ?? parseAddress(label.replaceAll('-', ':'));
}

/**
 * Reads the IPv4 address that the label at `at`, lower-cased in wire form, encodes; false when it is another label.
 * As `podAddress` reads it, without its strings.
 */
export function readPodIpv4(name: Uint8Array, at: number, out: Uint8Array): boolean {
  const end = at + 1 + name[at]!;
  let parts = 0;
  for (at++; at <= end && parts < IPV4_BYTES; at++) {
    const start = at;
    let value = 0;
    for (; at < end && name[at] !== HYPHEN; at++) {
      const digit = name[at]! - DIGIT_0;
      // A number has no zero before it, as in an address.
      if (digit < 0 || digit > 9 || (value === 0 && at > start)) return false;
      value = value * 10 + digit;
    }
    if (at === start || value > 0xff) return false;
    out[parts++] = value;
  }
  return parts === IPV4_BYTES && at === end + 1;
}

/** The text of a record before and after its address, as Go prints it (kubernetes/dns pkg/dns/util/util.go). */
const PREFIX = '&{';
const SUFFIX = ' 0 10 10  false 30 0  }';
const AFTER_PREFIX = hashText(FNV_OFFSET, PREFIX);
const MAX_LABEL_CHARACTERS = 16;
const IPV6_TEXT_BYTES = 39;
/** Scratch of `hashIpv6`, valid within one call: hashing must not allocate. */
const ipv6Text = new Uint8Array(IPV6_TEXT_BYTES);

/**
 * The hash that names an address without a hostname, as kubernetes/dns (HashServiceRecord) makes it:
 * FNV-1a over the text of the record as Go prints it. Clients may have stored such names, so ours are
 * equal. `bytes` holds the address at `at`, one byte per character. Allocates nothing.
 */
export function addressHash(bytes: string, at: number, size: number): number {
  return hashText(size === 4 ? hashIpv4(bytes, at) : hashIpv6(bytes, at), SUFFIX) >>> 0;
}

/** Writes the label of a hash, its length byte first: the hex text, hex-encoded again. Returns the bytes written. */
export function writeHashLabel(hash: number, out: Uint8Array, at: number): number {
  let written = at + 1;
  let shift = 28;
  while (shift > 0 && hash >>> shift === 0) shift -= 4;
  for (; shift >= 0; shift -= 4) {
    const digit = HEX.charCodeAt((hash >>> shift) & 0xf);
    out[written++] = HEX.charCodeAt(digit >>> 4);
    out[written++] = HEX.charCodeAt(digit & 0xf);
  }
  out[at] = written - at - 1;
  return written - at;
}

/** The hash that a lower-cased label encodes, its length byte at `at`; -1 when it encodes none. */
export function readHashLabel(name: Uint8Array, at: number): number {
  const length = name[at]!;
  if (length === 0 || length > MAX_LABEL_CHARACTERS || length % 2 !== 0) return -1;
  let hash = 0;
  for (let i = at + 1; i <= at + length; i += 2) {
    const digit = hexValue((hexValue(name[i]!) << 4) | hexValue(name[i + 1]!));
    // Go prints no leading zero, except for the hash zero itself.
    if (digit < 0 || (digit === 0 && hash === 0 && length > 2)) return -1;
    hash = hash * 16 + digit;
  }
  return hash;
}

function hashText(hash: number, text: string): number {
  for (let i = 0; i < text.length; i++) hash = hashByte(hash, text.charCodeAt(i));
  return hash;
}

function hashIpv4(bytes: string, at: number): number {
  let hash = AFTER_PREFIX;
  for (let i = at; i < at + 4; i++) {
    const octet = bytes.charCodeAt(i);
    if (i > at) hash = hashByte(hash, 0x2e);
    if (octet >= 100) hash = hashByte(hash, DIGIT_0 + Math.floor(octet / 100));
    if (octet >= 10) hash = hashByte(hash, DIGIT_0 + (Math.floor(octet / 10) % 10));
    hash = hashByte(hash, DIGIT_0 + (octet % 10));
  }
  return hash;
}

function hashIpv6(bytes: string, at: number): number {
  return hashBytes(AFTER_PREFIX, ipv6Text, 0, writeIpv6Text(bytes, at, ipv6Text));
}

/** A for four bytes, AAAA for sixteen. */
export function addressType(size: number): number {
  return size === 4 ? TYPE.A : TYPE.AAAA;
}

/** Writes the text of an IPv6 address as RFC 5952 has it; returns its length, 39 at most. */
export function writeIpv6Text(bytes: string, start: number, out: Uint8Array): number {
  const zerosAt = longestZeros(bytes, start);
  let zerosEnd = zerosAt;
  let at = 0;
  for (let i = 0; i < IPV6_GROUPS; i++) {
    if (i === zerosAt) {
      while (zerosEnd < IPV6_GROUPS && groupAt(bytes, start, zerosEnd) === 0) zerosEnd++;
      out[at++] = COLON;
      out[at++] = COLON;
      i = zerosEnd - 1;
      continue;
    }
    if (i > 0 && i !== zerosEnd) out[at++] = COLON;
    const group = groupAt(bytes, start, i);
    let shift = 12;
    while (shift > 0 && group >>> shift === 0) shift -= 4;
    for (; shift >= 0; shift -= 4) out[at++] = HEX.charCodeAt((group >>> shift) & 0xf);
  }
  return at;
}

/** The first group of the longest run of zero groups; -1 without a run of at least two. */
function longestZeros(bytes: string, start: number): number {
  let longest = 1;
  let longestAt = -1;
  for (let i = 0, run = 0; i < IPV6_GROUPS; i++) {
    run = groupAt(bytes, start, i) === 0 ? run + 1 : 0;
    if (run > longest) {
      longest = run;
      longestAt = i - run + 1;
    }
  }
  return longestAt;
}

function groupAt(bytes: string, start: number, i: number): number {
  return (bytes.charCodeAt(start + i * 2) << 8) | bytes.charCodeAt(start + i * 2 + 1);
}
