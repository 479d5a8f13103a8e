import { writeUint32 } from './bytes.js';
import { encodeKey } from './name.js';

const IN_ADDR_ARPA = encodeKey('in-addr.arpa');
const IP6_ARPA = encodeKey('ip6.arpa');
const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
/** The bytes of a label that is one hex digit. */
const NIBBLE_LABEL_BYTES = 2;
const DIGIT_0 = 0x30;

/**
 * The address that a reverse name is about (RFC 1035 section 3.5, RFC 3596 section 2.5), read in place. A
 * name with fewer labels than an address has is about the addresses with that prefix; the other bytes are 0
 * (dnsmasq src/util.c, in_arpa_name_2_addr).
 */
export class ReverseAddress {
  /** 4 for IPv4, 16 for IPv6, 0 where the name is no reverse name. */
  size: 0 | 4 | 16 = 0;
  /** Whether the name has every label of an address. */
  isWhole = false;
  /** Whether the name is whole and spelled as {@link reverseName} does: no number has a leading zero. */
  isCanonical = false;
  /** The address; valid up to `size`. */
  readonly bytes = new Uint8Array(IPV6_BYTES);

  /** Reads a lower-cased name in wire form. */
  read(name: Uint8Array, length: number): this {
    this.size = 0;
    this.isWhole = this.isCanonical = false;
    if (endsWith(name, length, IN_ADDR_ARPA)) this.#readIpv4(name, length - IN_ADDR_ARPA.length);
    else if (endsWith(name, length, IP6_ARPA)) this.#readIpv6(name, length - IP6_ARPA.length);
    return this;
  }

  /** The labels before `end` are decimals, the last byte of the address first. */
  #readIpv4(name: Uint8Array, end: number): void {
    let address = 0;
    let count = 0;
    let hasLeadingZero = false;
    let at = 0;
    for (; at < end; at += name[at]! + 1) {
      const byte = decimalLabel(name, at);
      if (byte < 0 || ++count > IPV4_BYTES) return;
      if (name[at]! > 1 && name[at + 1] === DIGIT_0) hasLeadingZero = true;
      address = (byte << 24) | (address >>> 8);
    }
    if (at !== end || count === 0) return;
    writeUint32(this.bytes, 0, address);
    this.size = IPV4_BYTES;
    this.isWhole = count === IPV4_BYTES;
    this.isCanonical = this.isWhole && !hasLeadingZero;
  }

  /** The labels before `end` are hex digits, the last of the address first. */
  #readIpv6(name: Uint8Array, end: number): void {
    const count = end / NIBBLE_LABEL_BYTES;
    if (count === 0 || count > IPV6_BYTES * 2 || end % NIBBLE_LABEL_BYTES !== 0) return;
    this.bytes.fill(0);
    for (let at = 0, i = count - 1; i >= 0; i--, at += NIBBLE_LABEL_BYTES) {
      const nibble = name[at] === 1 ? hexValue(name[at + 1]!) : -1;
      if (nibble < 0) return;
      this.bytes[i >> 1]! |= i % 2 === 0 ? nibble << 4 : nibble;
    }
    this.size = IPV6_BYTES;
    this.isWhole = this.isCanonical = count === IPV6_BYTES * 2;
  }
}

/** The value of a lower-case hex digit; -1 for any other byte. */
export function hexValue(byte: number): number {
  if (byte >= DIGIT_0 && byte <= 0x39) return byte - DIGIT_0;
  return byte >= 0x61 && byte <= 0x66 ? byte - 0x61 + 10 : -1;
}

/** Whether the bytes end with `suffix`; the caller checks that a label begins there. */
function endsWith(name: Uint8Array, length: number, suffix: Uint8Array): boolean {
  const start = length - suffix.length;
  for (let i = 0; i < suffix.length; i++) {
    if (name[start + i] !== suffix[i]) return false;
  }
  return start >= 0;
}

/** The number in the label at `at`, up to 255; -1 for any other label. */
function decimalLabel(name: Uint8Array, at: number): number {
  const length = name[at]!;
  if (length > 3) return -1;
  let number = 0;
  for (let i = at + 1; i <= at + length; i++) {
    const digit = name[i]! - DIGIT_0;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number > 255 ? -1 : number;
}

/** Of three digits and their length, or of two nibbles with theirs. */
const MAX_BYTES_EACH = 4;
const HEX_DIGITS = Buffer.from('0123456789abcdef');

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
  const zone = isIpv4 ? IN_ADDR_ARPA : IP6_ARPA;
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
    name[at] = DIGIT_0 + (rest % 10);
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
