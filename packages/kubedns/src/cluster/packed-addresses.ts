import { addressBytes } from '@kube-dns/wire';

/** Bytes of an address of each family. */
export const IPV4_BYTES = 4;
export const IPV6_BYTES = 16;
/** The memory of an address, with its place in the zone's index, as measured. */
export const ADDRESS_BYTES = 50;
export type AddressSize = typeof IPV4_BYTES | typeof IPV6_BYTES;

/**
 * Concatenated addresses of one family, one byte per character: a short string takes less than half the
 * memory of any other array of bytes in V8, and there are tens of thousands of these.
 */
export interface PackedAddresses {
  readonly size: AddressSize;
  readonly bytes: string;
}

export const NO_IPV4: PackedAddresses = { size: IPV4_BYTES, bytes: '' };
export const NO_IPV6: PackedAddresses = { size: IPV6_BYTES, bytes: '' };

/** How many addresses there are. */
export function countOf({ size, bytes }: PackedAddresses): number {
  return bytes.length / size;
}

/** The `addressNumber` of each address. */
export function addressNumbers({ size, bytes }: PackedAddresses): Uint32Array {
  const numbers = new Uint32Array(bytes.length / size);
  for (let at = 0; at < bytes.length; at++) {
    numbers[Math.floor(at / size)]! ^= placed(bytes.charCodeAt(at), at);
  }
  return numbers;
}

/** A number of 32 bits to find an address by: of IPv4 the address itself. */
export function addressNumber(address: Uint8Array, size: number): number {
  let number = 0;
  for (let at = 0; at < size; at++) number ^= placed(address[at]!, at);
  return number >>> 0;
}

/** A byte at its place in its word. */
function placed(byte: number, at: number): number {
  return byte << (24 - 8 * (at % 4));
}

/** Packs the addresses of one family; those of the other family are left out. */
export function packAddresses(texts: readonly string[], size: AddressSize): PackedAddresses {
  const all = texts.map(addressBytes).filter(({ length }) => length === size);
  if (all.length === 0) return size === IPV4_BYTES ? NO_IPV4 : NO_IPV6;
  return { size, bytes: Buffer.concat(all).toString('latin1') };
}
