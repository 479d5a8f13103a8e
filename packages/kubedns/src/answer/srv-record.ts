import { writeUint16 } from '@kube-dns/wire';

/** Priority of every SRV record, and the total weight of an RRset (skydns server/server.go). */
const SRV_PRIORITY = 10;
export const SRV_TOTAL_WEIGHT = 100;
/** Where the target begins in the rdata. */
export const SRV_TARGET_OFFSET = 6;

/** Writes the rdata of an SRV record up to its target. */
export function writeSrvHead(srv: Uint8Array, weight: number, port: number): void {
  writeUint16(srv, 0, SRV_PRIORITY);
  writeUint16(srv, 2, weight);
  writeUint16(srv, 4, port);
}
