import { parseAddress } from '@kube-dns/wire';

const IPV4_BYTES = 4;
const MAPPED_BYTES = 12;

/** A client's address in wire form; IPv4 also for an IPv4-mapped IPv6 address. */
export function clientAddress(text: string): Uint8Array {
  const address = parseAddress(text) ?? new Uint8Array(IPV4_BYTES);
  return isMapped(address) ? address.slice(MAPPED_BYTES) : address;
}

function isMapped(address: Uint8Array): boolean {
  if (address.length === IPV4_BYTES) return false;
  return address.subarray(0, MAPPED_BYTES).every((byte, i) => byte === (i < 10 ? 0 : 0xff));
}
