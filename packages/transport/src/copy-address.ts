import { parseAddress, unmappedAddress } from '@kube-dns/wire';

/** Writes the bytes of a client's address, 4 or 16, at `at`, and returns how many; one that is no address has none. */
export function copyAddress(text: string, to: Uint8Array, at: number): number {
  const bytes = parseAddress(unmappedAddress(text));
  if (bytes === undefined) return 0;
  to.set(bytes, at);
  return bytes.length;
}
