import { isIPv4, isIPv6 } from 'node:net';

/** The address families as services and slices spell them. */
export type IpFamily = 'IPv4' | 'IPv6';

/** An address as a number, so that spellings of the same address compare equal. */
export interface Ip {
  readonly family: IpFamily;
  readonly value: bigint;
}

function parseV4(text: string): bigint {
  return text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseV6(text: string): bigint {
  let rest = text;
  // A dotted tail (RFC 4291 section 2.2.3) is two groups.
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (tail) {
    const value = parseV4(tail[2]!);
    rest = `${tail[1]!}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
  }
  const [head = '', foot] = rest.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = foot === undefined || foot === '' ? [] : foot.split(':');
  const zeros = new Array<string>(8 - left.length - right.length).fill('0');
  return [...left, ...zeros, ...right].reduce((value, g) => (value << 16n) | BigInt(`0x${g}`), 0n);
}

/** The address that `text` spells, or undefined. Zones (`%eth0`) are not accepted. */
export function parseIp(text: string): Ip | undefined {
  if (isIPv4(text)) return { family: 'IPv4', value: parseV4(text) };
  if (isIPv6(text) && !text.includes('%')) return { family: 'IPv6', value: parseV6(text) };
  return undefined;
}

/** RFC 5952 spelling of an address. */
export function formatIp({ family, value }: Ip): string {
  if (family === 'IPv4') {
    return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.');
  }
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((value >> BigInt(16 * (7 - i))) & 0xffffn).toString(16),
  );
  const runs = [...groups.join(':').matchAll(/(?<![0-9a-f])0(?::0)+(?![0-9a-f])/g)];
  const longest = runs.reduce((best, run) => (run[0].length > best.length ? run[0] : best), '');
  const text = groups.join(':');
  if (!longest) return text;
  const at = runs.find((run) => run[0] === longest)!.index;
  const before = text.slice(0, at).replace(/:$/, '');
  const after = text.slice(at + longest.length).replace(/^:/, '');
  return `${before}::${after}`;
}

function isWithin(value: bigint, width: bigint, base: bigint, prefix: bigint): boolean {
  return value >> (width - prefix) === base >> (width - prefix);
}

/**
 * Why an address cannot be that of an endpoint: unspecified, loopback, link-local or multicast.
 * Source: pkg/apis/core/validation ValidateEndpointIP.
 */
export function refuseSpecialIp({ family, value }: Ip): string | undefined {
  const v4 = family === 'IPv4';
  const width = v4 ? 32n : 128n;
  const within = (text: string, prefix: bigint) =>
    isWithin(value, width, parseIp(text)!.value, prefix);
  if (value === 0n) return 'may not be unspecified (0.0.0.0 or ::)';
  if (v4 ? within('127.0.0.0', 8n) : value === 1n) {
    return 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
  }
  if (v4 ? within('169.254.0.0', 16n) : within('fe80::', 10n)) {
    return 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
  }
  if (v4 ? within('224.0.0.0', 24n) : within('ff02::', 16n)) {
    return 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/16)';
  }
  return undefined;
}

/** A range of addresses, network and (IPv4) broadcast address included. */
export interface IpRange {
  readonly family: IpFamily;
  readonly base: bigint;
  readonly size: bigint;
  readonly text: string;
}

/** The range that a CIDR such as `10.96.0.0/16` spells; undefined when it spells none. */
export function parseCidr(text: string): IpRange | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const ip = parseIp(address);
  if (!ip || rest.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  const width = ip.family === 'IPv4' ? 32 : 128;
  if (Number(length) > width) return undefined;
  const size = 1n << BigInt(width - Number(length));
  return { family: ip.family, base: ip.value - (ip.value % size), size, text };
}

/** Whether an address lies in a range. */
export function isInRange(ip: Ip, range: IpRange): boolean {
  return ip.family === range.family && ip.value >= range.base && ip.value < range.base + range.size;
}
