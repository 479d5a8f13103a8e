import { writeUint16 } from './bytes.js';
import { lowerCaseByte } from './name.js';
import { CLASS, FLAG, HEADER_BYTES, QUESTION_FIXED_BYTES } from './protocol.js';

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

/** Whether two questions, `length` bytes from the name to the class, are the same; names may differ in case. */
export function isSameQuestion(
  one: Uint8Array,
  oneAt: number,
  other: Uint8Array,
  otherAt: number,
  length: number,
): boolean {
  const nameBytes = length - QUESTION_FIXED_BYTES;
  for (let i = 0; i < length; i++) {
    const left = one[oneAt + i]!;
    const right = other[otherAt + i]!;
    if (left !== right && (i >= nameBytes || lowerCaseByte(left) !== lowerCaseByte(right))) {
      return false;
    }
  }
  return true;
}
