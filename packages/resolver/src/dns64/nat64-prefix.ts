import { quote } from '@kube-dns/base';
import { hasPrefix, parseAddress, shortIpv6 } from '@kube-dns/wire';

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
/** RFC 6052 section 2.2: the lengths that a prefix may have, in bits. */
const LENGTHS: readonly number[] = [32, 40, 48, 56, 64, 96];
/** Bits 64 to 71, the octet `u`, are always zero. */
const U_OCTET = 8;
/** RFC 6052 section 2.1. */
export const WELL_KNOWN_PREFIX = '64:ff9b::/96';

/** What no network has as its prefix (RFC 4291 sections 2.5.5 to 2.7): addresses in it lead to no NAT64. */
const UNROUTED = ['::/96', '::ffff:0:0/96', 'fe80::/10', 'ff00::/8'];

/** Addresses that start with the same bits. */
export interface AddressRange {
  /** In wire form: 4 or 16 bytes. */
  readonly address: Uint8Array;
  readonly prefixBits: number;
}

/** A prefix of IPv6 addresses that have IPv4 addresses in them, as a NAT64 translates them (RFC 6052). */
export interface Nat64Prefix {
  /** As `64:ff9b::/96`. */
  readonly text: string;
  /** 16 bytes. */
  readonly address: Uint8Array;
  readonly prefixBits: number;
}

/** Reads `ADDRESS/LENGTH`. Throws an Error that says why it is no prefix of a NAT64. */
export function parseNat64Prefix(text: string): Nat64Prefix {
  const [, written = '', length = ''] = /^([^/%]+)\/([0-9]{1,3})$/.exec(text) ?? [];
  const address = parseAddress(written);
  if (address?.length !== IPV6_BYTES) throw new Error(`${quote(text)} is no IPv6 prefix`);
  const prefixBits = Number(length);
  if (!LENGTHS.includes(prefixBits)) {
    throw new Error(`the prefix ${quote(text)} does not have ${LENGTHS.join(', ')} bits`);
  }
  if (address[U_OCTET] !== 0) throw new Error(`bits 64 to 71 of ${quote(text)} are not zero`);
  if (address.some((byte, at) => at >= prefixBits / 8 && byte !== 0)) {
    throw new Error(`${quote(text)} has bits after its prefix`);
  }
  for (const range of UNROUTED) {
    if (!overlaps({ address, prefixBits }, parseAddressRange(range))) continue;
    const better = `take ${WELL_KNOWN_PREFIX}, or a prefix of the own network`;
    throw new Error(
      `the prefix ${quote(text)} has addresses of ${range}, which no NAT64 can have: ${better}`,
    );
  }
  return { text: `${shortIpv6(written)}/${prefixBits}`, address, prefixBits };
}

/** Reads `IP` or `IP/LENGTH`. Throws an Error that names the text. */
export function parseAddressRange(text: string): AddressRange {
  const [, written = '', length] = /^([^/%]+)(?:\/([0-9]{1,3}))?$/.exec(text) ?? [];
  const address = parseAddress(written);
  const most = (address?.length ?? 0) * 8;
  const prefixBits = length === undefined ? most : Number(length);
  if (address === undefined || prefixBits > most) throw new Error(`${quote(text)} is not IP/bits`);
  return { address, prefixBits };
}

function overlaps(one: AddressRange, other: AddressRange): boolean {
  return hasPrefix(one.address, 0, other.address, Math.min(one.prefixBits, other.prefixBits));
}

/** Whether the address of `length` bytes at `at` is in one of these ranges. */
export function isInRanges(
  ranges: readonly AddressRange[],
  bytes: Uint8Array,
  at: number,
  length: number,
): boolean {
  for (const { address, prefixBits } of ranges) {
    if (address.length === length && hasPrefix(bytes, at, address, prefixBits)) return true;
  }
  return false;
}

/** Writes the IPv6 address with the IPv4 address at `at` of `bytes` in it into `out`, 16 bytes. */
export function embedIpv4(
  { address, prefixBits }: Nat64Prefix,
  bytes: Uint8Array,
  at: number,
  out: Uint8Array,
): void {
  out.set(address);
  for (let i = 0, to = prefixBits / 8; i < IPV4_BYTES; i++, to++) {
    if (to === U_OCTET) to++;
    out[to] = bytes[at + i]!;
  }
}

/** Whether the octet `u` of an IPv6 address is zero. */
export function hasZeroOctet(ipv6: Uint8Array): boolean {
  return ipv6[U_OCTET] === 0;
}

/**
 * The IPv4 address in an IPv6 address; undefined for one that does not have the prefix, or other bits than zero in the
 * octet `u`. What follows the IPv4 address is ignored (RFC 6052 section 2.2).
 */
export function ipv4In(
  { address, prefixBits }: Nat64Prefix,
  ipv6: Uint8Array,
): Uint8Array | undefined {
  if (!hasPrefix(ipv6, 0, address, prefixBits) || !hasZeroOctet(ipv6)) return undefined;
  const ipv4 = new Uint8Array(IPV4_BYTES);
  for (let i = 0, from = prefixBits / 8; i < IPV4_BYTES; i++, from++) {
    if (from === U_OCTET) from++;
    ipv4[i] = ipv6[from]!;
  }
  return ipv4;
}
