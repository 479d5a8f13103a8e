import { isIP, isIPv4, SocketAddress } from 'node:net';

const IPV4_BYTES = 4;
const IPV6_GROUPS = 8;

/** The bytes of an IP address in text form, 4 or 16; undefined for any other text. A zone (`%eth0`) is ignored. */
export function parseAddress(text: string): Uint8Array | undefined {
  return isIP(text) === 0 ? undefined : addressBytes(text.replace(/%.*$/, ''));
}

/** The bytes of an IP address in text form: 4 or 16. The text must be a valid address without a zone. */
export function addressBytes(text: string): Uint8Array {
  return isIPv4(text) ? Uint8Array.from(text.split('.'), Number) : ipv6Bytes(text);
}

/** The text of the 4 or 16 bytes of an IP address. */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === IPV4_BYTES) return bytes.join('.');
  return shortIpv6(Buffer.from(bytes).toString('hex').match(/.{4}/g)!.join(':'));
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
