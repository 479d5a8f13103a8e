import { encodeKey, TYPE } from '@kube-dns/wire';

const IPV4_SUFFIX = encodeKey('in-addr.arpa');
const IPV6_SUFFIX = encodeKey('ip6.arpa');
const IPV6_GROUPS = 8;
const COLON = 0x3a;
const DIGIT_0 = 0x30;
const HEX = '0123456789abcdef';

/** A for four bytes, AAAA for sixteen. */
export function addressType(size: number): number {
  return size === 4 ? TYPE.A : TYPE.AAAA;
}

/**
 * Reads the address that a lower-cased reverse name asks for (RFC 1035 section 3.5, RFC 3596 section 2.5)
 * into `out`; returns its size, 4 or 16, or 0 when the name is not that of one address.
 */
export function readReverseName(name: Uint8Array, length: number, out: Uint8Array): number {
  if (hasSuffix(name, length, IPV4_SUFFIX)) return readIpv4Labels(name, length, out);
  if (hasSuffix(name, length, IPV6_SUFFIX)) return readIpv6Labels(name, length, out);
  return 0;
}

/** Writes the text of an IPv6 address as RFC 5952 has it; returns its length, 39 at most. */
export function writeIpv6Text(bytes: string, start: number, out: Uint8Array): number {
  const zerosAt = longestZeros(bytes, start);
  let behindZeros = zerosAt;
  let at = 0;
  for (let i = 0; i < IPV6_GROUPS; i++) {
    if (i === zerosAt) {
      while (behindZeros < IPV6_GROUPS && groupAt(bytes, start, behindZeros) === 0) behindZeros++;
      out[at++] = COLON;
      out[at++] = COLON;
      i = behindZeros - 1;
      continue;
    }
    if (i > 0 && i !== behindZeros) out[at++] = COLON;
    const group = groupAt(bytes, start, i);
    let shift = 12;
    while (shift > 0 && group >>> shift === 0) shift -= 4;
    for (; shift >= 0; shift -= 4) out[at++] = HEX.charCodeAt((group >>> shift) & 0xf);
  }
  return at;
}

/** The value of a lower-case hex digit; -1 for any other byte. */
export function hexValue(byte: number): number {
  if (byte >= DIGIT_0 && byte <= 0x39) return byte - DIGIT_0;
  return byte >= 0x61 && byte <= 0x66 ? byte - 0x61 + 10 : -1;
}

/** Where the first of the longest runs of zero groups begins; -1 without a run of two. */
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

function hasSuffix(name: Uint8Array, length: number, suffix: Uint8Array): boolean {
  const start = length - suffix.length;
  for (let i = 0; i < suffix.length; i++) {
    if (name[start + i] !== suffix[i]) return false;
  }
  return start >= 0;
}

/** Four labels of decimals without needless zeros, the last byte of the address first. */
function readIpv4Labels(name: Uint8Array, length: number, out: Uint8Array): number {
  let at = 0;
  for (let i = 3; i >= 0; i--) {
    const digits = name[at]!;
    if (digits === 0 || digits > 3 || (digits > 1 && name[at + 1] === DIGIT_0)) return 0;
    let value = 0;
    for (let j = at + 1; j <= at + digits; j++) {
      const digit = name[j]! - DIGIT_0;
      if (digit < 0 || digit > 9) return 0;
      value = value * 10 + digit;
    }
    if (value > 255) return 0;
    out[i] = value;
    at += digits + 1;
  }
  return at === length - IPV4_SUFFIX.length ? 4 : 0;
}

/** Thirty-two labels of one nibble, the last of the address first. */
function readIpv6Labels(name: Uint8Array, length: number, out: Uint8Array): number {
  if (length !== 64 + IPV6_SUFFIX.length) return 0;
  for (let i = 0; i < 32; i++) {
    const nibble = hexValue(name[i * 2 + 1]!);
    if (name[i * 2] !== 1 || nibble < 0) return 0;
    const byte = 15 - (i >>> 1);
    out[byte] = i % 2 === 0 ? nibble : out[byte]! | (nibble << 4);
  }
  return 16;
}
