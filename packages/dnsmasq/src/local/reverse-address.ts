import { encodeKey, suffixOffset } from '@kube-dns/wire';

const IN_ADDR_ARPA = encodeKey('in-addr.arpa');
const IP6_ARPA = encodeKey('ip6.arpa');
const IPV4_BYTES = 4;
const IPV6_NIBBLES = 32;

/**
 * The address that a reverse name is about, read in place. A name with fewer labels than an address has
 * is about the addresses that start so; the rest of it is 0 (dnsmasq src/util.c, in_arpa_name_2_addr).
 */
export class ReverseAddress {
  family: 'none' | 'ipv4' | 'ipv6' = 'none';
  /** Tells whether every label of an address was there. */
  isWhole = false;
  /** 4 bytes of IPv4 or 16 of IPv6. */
  readonly bytes = new Uint8Array(16);

  /** Reads a lower-cased name in wire form; the family is `none` where it is no reverse name. */
  read(name: Uint8Array, length: number): this {
    this.family = 'none';
    const ipv4 = suffixOffset(name, length, IN_ADDR_ARPA);
    if (ipv4 > 0) this.#readIpv4(name, ipv4);
    else {
      const ipv6 = suffixOffset(name, length, IP6_ARPA);
      if (ipv6 > 0) this.#readIpv6(name, ipv6);
    }
    return this;
  }

  #readIpv4(name: Uint8Array, end: number): void {
    const count = countLabels(name, end);
    if (count > IPV4_BYTES) return;
    this.bytes.fill(0, 0, IPV4_BYTES);
    for (let at = 0, i = count - 1; i >= 0; i--) {
      const byte = decimal(name, at);
      if (byte < 0) return;
      this.bytes[i] = byte;
      at += name[at]! + 1;
    }
    this.family = 'ipv4';
    this.isWhole = count === IPV4_BYTES;
  }

  #readIpv6(name: Uint8Array, end: number): void {
    const count = countLabels(name, end);
    if (count > IPV6_NIBBLES) return;
    this.bytes.fill(0);
    for (let at = 0, i = count - 1; i >= 0; i--, at += 2) {
      const nibble = name[at] === 1 ? hexDigit(name[at + 1]!) : -1;
      if (nibble < 0) return;
      this.bytes[i >> 1]! |= i % 2 === 0 ? nibble << 4 : nibble;
    }
    this.family = 'ipv6';
    this.isWhole = count === IPV6_NIBBLES;
  }
}

function countLabels(name: Uint8Array, end: number): number {
  let count = 0;
  for (let at = 0; at < end; at += name[at]! + 1) count++;
  return count;
}

/** The number that the label at `at` is, up to 255; -1 when it is none. */
function decimal(name: Uint8Array, at: number): number {
  const length = name[at]!;
  if (length > 3) return -1;
  let number = 0;
  for (let i = 1; i <= length; i++) {
    const digit = name[at + i]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number > 255 ? -1 : number;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  return byte >= 0x61 && byte <= 0x66 ? byte - 0x61 + 10 : -1;
}
