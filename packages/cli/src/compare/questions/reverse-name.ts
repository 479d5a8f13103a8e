import { isIPv4 } from 'node:net';
import { addressBytes } from '@kube-dns/wire';

/** The name of an address in `in-addr.arpa` or `ip6.arpa` (RFC 1035 section 3.5, RFC 3596 section 2.5). */
export function reverseName(address: string): string {
  const bytes = [...addressBytes(address)].reverse();
  if (isIPv4(address)) return `${bytes.join('.')}.in-addr.arpa`;
  const nibbles = bytes.flatMap((byte) => [byte & 0xf, byte >> 4].map((one) => one.toString(16)));
  return `${nibbles.join('.')}.ip6.arpa`;
}
