import { isIPv4, isIPv6 } from 'node:net';

/** The address families as services and slices name them. */
export type IpFamily = 'IPv4' | 'IPv6';

/** An address as a number, so that different texts of one address are equal. */
export interface Ip {
  readonly family: IpFamily;
  readonly value: bigint;
}

const BITS = { IPv4: 32, IPv6: 128 } as const;

/** The address of a text, or undefined. Zones (`%eth0`) are not accepted. */
export function parseIp(text: string): Ip | undefined {
  if (isIPv4(text)) {
    const value = text.split('.').reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
    return { family: 'IPv4', value };
  }
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const short = spellIpv6(text);
  const zeros = '0:'.repeat(8 - short.split(':').filter(Boolean).length);
  const groups = short.replace('::', `:${zeros}`).split(':').filter(Boolean);
  const value = groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
  return { family: 'IPv6', value };
}

/** The RFC 5952 text of an address. */
export function formatIp({ family, value }: Ip): string {
  const hex = value.toString(16).padStart(BITS[family] / 4, '0');
  if (family === 'IPv4') return Buffer.from(hex, 'hex').join('.');
  return spellIpv6(hex.match(/.{4}/g)!.join(':'));
}

/** The URL parser writes an IPv6 address as in RFC 5952, without a dotted part. */
function spellIpv6(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/** A range of addresses, network and (IPv4) broadcast address included. */
export interface IpRange {
  readonly family: IpFamily;
  readonly base: bigint;
  readonly size: bigint;
  readonly text: string;
}

/** The range of a CIDR such as `10.96.0.0/16`, or undefined. */
export function parseCidr(text: string): IpRange | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const ip = parseIp(address);
  if (!ip || rest.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  const bits = BITS[ip.family];
  if (Number(length) > bits) return undefined;
  const size = 1n << BigInt(bits - Number(length));
  return { family: ip.family, base: ip.value - (ip.value % size), size, text };
}

/** Whether an address is in a range. */
export function isInRange(ip: Ip, range: IpRange): boolean {
  return ip.family === range.family && ip.value >= range.base && ip.value < range.base + range.size;
}

const SPECIAL_RANGES = [
  { reason: 'may not be unspecified (0.0.0.0 or ::)', ranges: ['0.0.0.0/32', '::/128'] },
  {
    reason: 'may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ranges: ['127.0.0.0/8', '::1/128'],
  },
  {
    reason: 'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
    ranges: ['169.254.0.0/16', 'fe80::/10'],
  },
  {
    reason: 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/16)',
    ranges: ['224.0.0.0/24', 'ff02::/16'],
  },
].map(({ reason, ranges }) => ({ reason, ranges: ranges.map((range) => parseCidr(range)!) }));

/**
 * Why an endpoint cannot have an address: it is unspecified, loopback, link-local or multicast.
 * Source: pkg/apis/core/validation ValidateEndpointIP.
 */
export function refuseSpecialIp(ip: Ip): string | undefined {
  return SPECIAL_RANGES.find(({ ranges }) => ranges.some((range) => isInRange(ip, range)))?.reason;
}
