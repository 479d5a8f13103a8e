import { parseAddress, unmappedAddress } from '@kube-dns/wire';

const MAPPED_PREFIX = '::ffff:';
const DIGITS = 0x30;
const DOT = 0x2e;
const IPV4_BYTES = 4;

/** Writes the bytes of a client's address, 4 or 16, at `at`, and returns how many; one that is no address has none. */
export function copyAddress(text: string, to: Uint8Array, at: number): number {
  if (copyIpv4(text, to, at)) return IPV4_BYTES;
  const bytes = parseAddress(unmappedAddress(text));
  if (bytes === undefined) return 0;
  to.set(bytes, at);
  return bytes.length;
}

/** An IPv4 address, also as a socket of both families names it, without a string for each byte; false for any other text. */
function copyIpv4(text: string, to: Uint8Array, at: number): boolean {
  let value = -1;
  let count = 0;
  for (let i = text.startsWith(MAPPED_PREFIX) ? MAPPED_PREFIX.length : 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT && value >= 0 && count < IPV4_BYTES - 1) {
      to[at + count++] = value;
      value = -1;
    } else if (code >= DIGITS && code < DIGITS + 10 && value !== 0) {
      value = Math.max(value, 0) * 10 + code - DIGITS;
      if (value > 0xff) return false;
    } else return false;
  }
  if (value < 0 || count !== IPV4_BYTES - 1) return false;
  to[at + count] = value;
  return true;
}
