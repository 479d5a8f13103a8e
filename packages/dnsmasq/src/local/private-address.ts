/** Ranges that are nobody's on the internet, as dnsmasq has them (src/rfc1035.c, private_net). */
const IPV4_RANGES: readonly (readonly [network: number, bits: number])[] = [
  [0x00000000, 8],
  [0x0a000000, 8],
  [0x7f000000, 8],
  [0xa9fe0000, 16],
  [0xac100000, 12],
  [0xc0a80000, 16],
  [0xc0000200, 24],
  [0xc6336400, 24],
  [0xcb007100, 24],
  [0xffffffff, 32],
];
const LOOPBACK = 0x7f;

/** Tells whether an IPv4 address, as a number, is private. */
export function isPrivateIpv4(address: number): boolean {
  return IPV4_RANGES.some(([network, bits]) => (address ^ network) >>> (32 - bits) === 0);
}

/** Tells whether an IPv4 address is one of this machine: 127/8, or 0/8. */
export function isLocalIpv4(address: number): boolean {
  return address >>> 24 === LOOPBACK || address >>> 24 === 0;
}

/** The IPv4 address inside `::ffff:a.b.c.d` at `at`, as a number; -1 when it is none. */
export function mappedIpv4(bytes: Uint8Array, at = 0): number {
  for (let i = 0; i < 10; i++) if (bytes[at + i] !== 0) return -1;
  if (bytes[at + 10] !== 0xff || bytes[at + 11] !== 0xff) return -1;
  return (
    ((bytes[at + 12]! << 24) |
      (bytes[at + 13]! << 16) |
      (bytes[at + 14]! << 8) |
      bytes[at + 15]!) >>>
    0
  );
}

/** Tells whether an IPv6 address of 16 bytes at `at` is `::` or `::1`. */
export function isLocalIpv6(bytes: Uint8Array, at = 0): boolean {
  for (let i = 0; i < 15; i++) if (bytes[at + i] !== 0) return false;
  return bytes[at + 15]! <= 1;
}

/** Tells whether an IPv6 address of 16 bytes at `at` is private: link-local, site-local, fd00::/8, … */
export function isPrivateIpv6(bytes: Uint8Array, at = 0): boolean {
  const mapped = mappedIpv4(bytes, at);
  if (mapped >= 0) return isPrivateIpv4(mapped);
  const [first, second, third, fourth] = [
    bytes[at]!,
    bytes[at + 1]!,
    bytes[at + 2]!,
    bytes[at + 3]!,
  ];
  if (first === 0xfd) return true;
  if (first === 0xfe && second >= 0x80) return true; // fe80::/10 and fec0::/10
  if (first === 0x20 && second === 0x01 && third === 0x0d && fourth === 0xb8) return true;
  return isLocalIpv6(bytes, at);
}
