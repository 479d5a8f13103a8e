import { parseAddress } from '@kube-dns/wire';
import { IPV4_BYTES } from '../watch/projections.js';

/**
 * The address that the first label of a pod's name encodes: `10-0-0-1`, or IPv6 with `-` for `:`.
 * Undefined when it encodes none; letters must be lower case.
 * After kubernetes/dns pkg/dns/dns.go (isPodRecord), where only IPv4 worked.
 */
export function podAddress(label: string): Uint8Array | undefined {
  if (!/^[0-9a-f-]+$/.test(label)) return undefined;
  return parseAddress(label.replaceAll('-', '.')) ?? parseAddress(label.replaceAll('-', ':'));
}

const HYPHEN = 0x2d;
const DIGIT_0 = 0x30;

/**
 * Reads the IPv4 address that the label at `at`, lower-cased in wire form, encodes; false when it is another label.
 * As `podAddress` reads it, without its strings.
 */
export function readPodIpv4(name: Uint8Array, at: number, out: Uint8Array): boolean {
  const end = at + 1 + name[at]!;
  let parts = 0;
  for (at++; at <= end && parts < IPV4_BYTES; at++) {
    const start = at;
    let value = 0;
    for (; at < end && name[at] !== HYPHEN; at++) {
      const digit = name[at]! - DIGIT_0;
      // A number has no zero before it, as in an address.
      if (digit < 0 || digit > 9 || (value === 0 && at > start)) return false;
      value = value * 10 + digit;
    }
    if (at === start || value > 0xff) return false;
    out[parts++] = value;
  }
  return parts === IPV4_BYTES && at === end + 1;
}
