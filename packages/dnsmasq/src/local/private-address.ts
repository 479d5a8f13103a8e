import { hasPrefix } from '@kube-dns/wire';

/** A prefix of addresses: this many bits of these bytes. */
interface Prefix {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

const prefix = (bits: number, ...bytes: number[]): Prefix => ({
  bytes: Uint8Array.from(bytes),
  bits,
});

/** "This network" and loopback, which `--rebind-localhost-ok` exempts. */
const LOCAL_IPV4 = [prefix(8, 0), prefix(8, 127)];
/** dnsmasq src/rfc1035.c, private_net. */
const PRIVATE_IPV4 = [
  prefix(8, 10),
  prefix(12, 172, 16),
  prefix(16, 192, 168),
  prefix(16, 169, 254),
  prefix(24, 192, 0, 2),
  prefix(24, 198, 51, 100),
  prefix(24, 203, 0, 113),
  prefix(32, 255, 255, 255, 255),
];
/** dnsmasq src/rfc1035.c, private_net6. */
const PRIVATE_IPV6 = [
  prefix(10, 0xfe, 0x80),
  prefix(10, 0xfe, 0xc0),
  prefix(8, 0xfd),
  prefix(32, 0x20, 0x01, 0x0d, 0xb8),
];
const MAPPED_BYTES = 12;

/** Whether the IPv4 address at an offset belongs to a network that is not on the internet. */
export function isPrivateIpv4(bytes: Uint8Array, at: number, allowsLocalhost: boolean): boolean {
  if (startsWithAny(bytes, at, LOCAL_IPV4)) return !allowsLocalhost;
  return startsWithAny(bytes, at, PRIVATE_IPV4);
}

/** The same for an IPv6 address; of an IPv4-mapped one (`::ffff:10.0.0.1`) the IPv4 address counts. */
export function isPrivateIpv6(bytes: Uint8Array, at: number, allowsLocalhost: boolean): boolean {
  if (isMapped(bytes, at)) return isPrivateIpv4(bytes, at + MAPPED_BYTES, allowsLocalhost);
  if (isUnspecifiedOrLoopback(bytes, at)) return !allowsLocalhost;
  return startsWithAny(bytes, at, PRIVATE_IPV6);
}

function isUnspecifiedOrLoopback(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < 15; i++) if (bytes[at + i] !== 0) return false;
  return bytes[at + 15]! <= 1;
}

function isMapped(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < 10; i++) if (bytes[at + i] !== 0) return false;
  return bytes[at + 10] === 0xff && bytes[at + 11] === 0xff;
}

function startsWithAny(bytes: Uint8Array, at: number, prefixes: readonly Prefix[]): boolean {
  return prefixes.some((prefix) => hasPrefix(bytes, at, prefix.bytes, prefix.bits));
}
