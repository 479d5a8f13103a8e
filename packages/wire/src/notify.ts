import { writeUint16, writeUint32 } from './bytes.js';
import {
  CLASS,
  FLAG,
  HEADER_BYTES,
  OPCODE_NOTIFY,
  QUESTION_FIXED_BYTES,
  TYPE,
} from './protocol.js';

/** What a NOTIFY tells. Names are in wire form. */
export interface Notify {
  readonly id: number;
  /** The name that changed: an owner, or the zone's apex. */
  readonly name: Uint8Array;
  readonly apex: Uint8Array;
  /** The data of the zone's SOA record, with the new serial, uncompressed. */
  readonly soaRdata: Uint8Array;
  readonly ttlSeconds: number;
}

const RECORD_FIXED_BYTES = 10;

/** A NOTIFY with the question for the SOA of a name, and the zone's SOA as the answer (RFC 1996 section 3.7). */
export function writeNotify({ id, name, apex, soaRdata, ttlSeconds }: Notify): Uint8Array {
  const questionEnd = HEADER_BYTES + name.length + QUESTION_FIXED_BYTES;
  const message = new Uint8Array(questionEnd + apex.length + RECORD_FIXED_BYTES + soaRdata.length);
  writeUint16(message, 0, id);
  writeUint16(message, 2, OPCODE_NOTIFY | FLAG.AA);
  writeUint16(message, 4, 1);
  writeUint16(message, 6, 1);
  message.set(name, HEADER_BYTES);
  writeUint16(message, questionEnd - 4, TYPE.SOA);
  writeUint16(message, questionEnd - 2, CLASS.IN);
  message.set(apex, questionEnd);
  const fixedAt = questionEnd + apex.length;
  writeUint16(message, fixedAt, TYPE.SOA);
  writeUint16(message, fixedAt + 2, CLASS.IN);
  writeUint32(message, fixedAt + 4, ttlSeconds);
  writeUint16(message, fixedAt + 8, soaRdata.length);
  message.set(soaRdata, fixedAt + RECORD_FIXED_BYTES);
  return message;
}
