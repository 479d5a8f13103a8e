import { parseAddress } from '@kube-dns/wire';

const IPV4_BYTES = 4;

/** A client's address in wire form; 0.0.0.0 where there is no client. */
export function clientAddress(text: string): Uint8Array {
  return parseAddress(text) ?? new Uint8Array(IPV4_BYTES);
}
