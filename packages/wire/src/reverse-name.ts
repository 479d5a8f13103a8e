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
