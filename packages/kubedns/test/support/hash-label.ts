import { addressBytes } from '@kube-dns/wire';
import { addressHash, writeHashLabel } from '../../src/zone/zone-names.js';

/** The generated label of an address. */
export function hashLabel(address: string): string {
  const bytes = addressBytes(address);
  const out = new Uint8Array(64);
  writeHashLabel(addressHash(Buffer.from(bytes).toString('latin1'), 0, bytes.length), out, 0);
  return Buffer.from(out.subarray(1, 1 + out[0]!)).toString('latin1');
}
