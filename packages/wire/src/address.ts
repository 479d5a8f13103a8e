import { isIP, isIPv4, SocketAddress } from 'node:net';

const IPV4_BYTES = 4;
const IPV6_GROUPS = 8;
const DOT = 0x2e;
const DIGIT_0 = 0x30;
const MAPPED_PREFIX = '::ffff:';
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** As an address to bind: every address of both families, as Go's `:port` is. */
export const EVERY_ADDRESS = '';

/**
 * The address that a flag of a Go program names, without the brackets that an IPv6 address may have. `0.0.0.0` and
 * `::` are every address of both families, as in Go's net.Listen.
 */
export function bindAddress(text: string): string {
  const address = text.replace(/^\[(.*)\]$/, '$1');
  return WILDCARDS.has(address) ? EVERY_ADDRESS : address;
}

/** The address of a peer as a socket of both families names it, `::ffff:192.0.2.1`: the IPv4 address. */
export function unmappedAddress(text: string): string {
  return text.startsWith(MAPPED_PREFIX) && text.includes('.')
    ? text.slice(MAPPED_PREFIX.length)
    : text;
}

/** The bytes of an IP address in text form, 4 or 16; undefined for any other text. A zone (`%eth0`) is ignored. */
export function parseAddress(text: string): Uint8Array | undefined {
  return isIP(text) === 0 ? undefined : addressBytes(text.replace(/%.*$/, ''));
}

/** The bytes of an IP address in text form: 4 or 16. The text must be a valid address without a zone. */
export function addressBytes(text: string): Uint8Array {
  return isIPv4(text) ? ipv4Bytes(text) : ipv6Bytes(text);
}

/** The text of the 4 or 16 bytes of an IP address. */
export function addressText(bytes: Uint8Array): string {
  return bytes.length === IPV4_BYTES ? ipv4Text(bytes, 0) : ipv6Text(bytes);
}

/** The one spelling of an IP address: the same address twice would be one record twice (RFC 2181 section 5). */
export function shortAddress(text: string): string {
  return addressText(addressBytes(text));
}

/** The shortest spelling of an IPv6 address (RFC 5952), which must be valid and without a zone. */
export function shortIpv6(text: string): string {
  return new SocketAddress({ address: text, family: 'ipv6' }).address;
}

/** Whether the address at `at` starts with the first `bits` bits of `prefix`, which has as many or more. */
export function hasPrefix(
  bytes: Uint8Array,
  at: number,
  prefix: Uint8Array,
  bits: number,
): boolean {
  for (let i = 0; bits > 0; i++, bits -= 8) {
    const mask = bits >= 8 ? 0xff : (0xff << (8 - bits)) & 0xff;
    if (((prefix[i]! ^ bytes[at + i]!) & mask) !== 0) return false;
  }
  return true;
}

/** Digit by digit: of a large list each address of an endpoint passes here, and `split` takes ten times as long. */
function ipv4Bytes(text: string): Uint8Array {
  const bytes = new Uint8Array(IPV4_BYTES);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT) at++;
    else bytes[at] = bytes[at]! * 10 + code - DIGIT_0;
  }
  return bytes;
}

function ipv4Text(bytes: Uint8Array, at: number): string {
  return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
}

/** As `shortIpv6`, which costs several microseconds: each miss of a client over IPv6 would pay them. */
function ipv6Text(bytes: Uint8Array): string {
  const { at, length } = longestZeros(bytes);
  if (at === 0 && length === 6) return `::${ipv4Text(bytes, 12)}`;
  if (at === 0 && length === 5 && groupAt(bytes, 5) === 0xffff) {
    return `::ffff:${ipv4Text(bytes, 12)}`;
  }
  let text = '';
  for (let i = 0; i < IPV6_GROUPS; i++) {
    if (i === at) {
      text += '::';
      i += length - 1;
    } else {
      if (i > 0 && i !== at + length) text += ':';
      text += groupAt(bytes, i).toString(16);
    }
  }
  return text;
}

/** The first of the longest runs of two or more groups that are zero; `at` is -1 without one. */
function longestZeros(bytes: Uint8Array): { readonly at: number; readonly length: number } {
  let at = -1;
  let length = 1;
  for (let i = 0; i < IPV6_GROUPS; i++) {
    let end = i;
    while (end < IPV6_GROUPS && groupAt(bytes, end) === 0) end++;
    if (end - i > length) [at, length] = [i, end - i];
    i = end;
  }
  return { at, length };
}

function groupAt(bytes: Uint8Array, group: number): number {
  return (bytes[group * 2]! << 8) | bytes[group * 2 + 1]!;
}

function ipv6Bytes(text: string): Uint8Array {
  const dotted = /^(.*:)([0-9]+(?:\.[0-9]+){3})$/.exec(text);
  const groups = dotted === null ? text : dotted[1]! + dottedGroups(dotted[2]!);
  const [head = '', tail] = groups.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = new Array<string>(IPV6_GROUPS - left.length - right.length).fill('0');
  const bytes = new Uint8Array(16);
  [...left, ...zeros, ...right].forEach((group, i) => {
    const value = parseInt(group, 16);
    bytes[i * 2] = value >>> 8;
    bytes[i * 2 + 1] = value;
  });
  return bytes;
}

/** The last 32 bits of an address that are written as IPv4, as two groups. */
function dottedGroups(text: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
