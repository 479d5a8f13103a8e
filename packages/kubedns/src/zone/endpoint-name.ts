import { FNV_OFFSET, hashByte, hashBytes, hexValue } from '@kube-dns/wire';
import { writeIpv6Text } from './address.js';

/** The text of a record before and after its address, as Go prints it (kubernetes/dns pkg/dns/util/util.go). */
const PREFIX = '&{';
const SUFFIX = ' 0 10 10  false 30 0  }';
const AFTER_PREFIX = hashText(FNV_OFFSET, PREFIX);
const HEX = '0123456789abcdef';
const DIGIT_0 = 0x30;
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

/** An address as a label, `-` for `.` and `:`; a zero where a dash would be first or last. */
export function dashedLabel(address: string): string {
  const dashed = address.toLowerCase().replace(/[.:]/g, '-');
  return dashed.replace(/^-/, '0-').replace(/-$/, '-0');
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
