import type { AnswerWriter, Section } from '@kube-dns/wire';
import { IPV6_BYTES, type PackedAddresses } from '../watch/projections.js';
import { addressType } from '../zone/address.js';

/** Scratch of `addAddress`, valid within one call: it must not allocate. */
const rdata = new Uint8Array(IPV6_BYTES);

/** Adds the A or AAAA record of the address at an offset; false when it did not fit. */
export function addAddress(
  writer: AnswerWriter,
  section: Section,
  owner: Uint8Array | undefined,
  { size, bytes }: PackedAddresses,
  at: number,
  ttlSeconds: number,
): boolean {
  for (let i = 0; i < size; i++) rdata[i] = bytes.charCodeAt(at + i);
  return writer.add(section, owner, addressType(size), ttlSeconds, rdata, size);
}
