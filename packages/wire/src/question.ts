import { writeUint16 } from './bytes.js';
import { CLASS, FLAG, HEADER_BYTES } from './protocol.js';

/** A query with RD for one name in wire form, class IN, without EDNS; its ID is for the sender to set. */
export function buildQuery(name: Uint8Array, type: number): Uint8Array {
  const message = new Uint8Array(HEADER_BYTES + name.length + 4);
  writeUint16(message, 2, FLAG.RD);
  writeUint16(message, 4, 1);
  message.set(name, HEADER_BYTES);
  writeUint16(message, HEADER_BYTES + name.length, type);
  writeUint16(message, HEADER_BYTES + name.length + 2, CLASS.IN);
  return message;
}
