import { encodeName } from './name.js';

const IPV4_ZONE = encodeName('in-addr.arpa');
const IPV6_ZONE = encodeName('ip6.arpa');
/** Of three digits and their length, or of two nibbles with theirs. */
const MAX_BYTES_EACH = 4;
const HEX_DIGITS = Buffer.from('0123456789abcdef');
const DIGIT_ZERO = 0x30;

/** How many address bits one label of a reverse name represents. */
export const BITS_PER_REVERSE_LABEL = { ipv4: 8, ipv6: 4 } as const;

/**
 * The reverse name of an address (RFC 1035 section 3.5, RFC 3596 section 2.5), as `1.2.0.192.in-addr.arpa`;
 * with fewer `bits`, a multiple of those of a label, the zone of the addresses that start with them.
 */
export function reverseName(address: Uint8Array, bits = address.length * 8): string {
  if (address.length === 4) {
    const labels = address.slice(0, bits / BITS_PER_REVERSE_LABEL.ipv4).reverse();
    return `${labels.join('.')}.in-addr.arpa`;
  }
  const digits = Buffer.from(address)
    .toString('hex')
    .slice(0, bits / BITS_PER_REVERSE_LABEL.ipv6);
  return `${Array.from(digits).reverse().join('.')}.ip6.arpa`;
}

/** The reverse name of an address, lower-cased in wire form. */
export function encodeReverseName(address: Uint8Array): Uint8Array {
  const isIpv4 = address.length === 4;
  const zone = isIpv4 ? IPV4_ZONE : IPV6_ZONE;
  const name = new Uint8Array(address.length * MAX_BYTES_EACH + zone.length);
  let at = 0;
  for (let i = address.length - 1; i >= 0; i--) {
    at = isIpv4 ? writeDecimal(name, at, address[i]!) : writeNibbles(name, at, address[i]!);
  }
  name.set(zone, at);
  return name.subarray(0, at + zone.length);
}

/** Writes a label with the digits of a byte; returns its end. */
function writeDecimal(name: Uint8Array, start: number, byte: number): number {
  const digits = byte > 99 ? 3 : byte > 9 ? 2 : 1;
  name[start] = digits;
  for (let at = start + digits, rest = byte; at > start; at--, rest = Math.floor(rest / 10)) {
    name[at] = DIGIT_ZERO + (rest % 10);
  }
  return start + 1 + digits;
}

/** Writes a label for each nibble, the low one first; returns their end. */
function writeNibbles(name: Uint8Array, at: number, byte: number): number {
  name[at] = name[at + 2] = 1;
  name[at + 1] = HEX_DIGITS[byte & 0xf]!;
  name[at + 3] = HEX_DIGITS[byte >> 4]!;
  return at + 4;
}
