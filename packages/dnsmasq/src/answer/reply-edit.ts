import {
  expandName,
  expandRdata,
  FLAG,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  RCODE_MASK,
  readUint16,
  readUint32,
  RecordCursor,
  SECTION,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';
import { FILTERED_TYPE } from '../explanations.js';

/** Scratch space for a copy, and for the owner of one of its records; results are copied out of it. */
const scratch = new Uint8Array(MAX_MESSAGE_BYTES);
const owner = new Uint8Array(MAX_NAME_BYTES);

/**
 * A copy of a reply without its records: header and question, another rcode, OPT if it had one, with a further
 * option.
 */
export function emptyReply(reply: Uint8Array, rcode: number, option: Uint8Array): Buffer {
  const cursor = new RecordCursor().reset(reply, reply.length);
  const questionEnd = cursor.end;
  let opt = reply.subarray(0, 0);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT || cursor.section !== SECTION.ADDITIONAL) continue;
    opt = reply.subarray(cursor.start, cursor.end);
    break;
  }
  const hasOpt = opt.length > 0;
  const optionBytes = hasOpt ? option.length : 0;
  const empty = Buffer.alloc(questionEnd + opt.length + optionBytes);
  empty.set(reply.subarray(0, questionEnd));
  writeUint16(empty, 2, (readUint16(reply, 2) & ~(FLAG.TC | FLAG.AA | RCODE_MASK)) | rcode);
  empty.fill(0, 6, 12);
  if (!hasOpt) return empty;
  writeUint16(empty, 10, 1);
  empty.set(opt, questionEnd);
  addOption(empty, questionEnd, empty.length - optionBytes, option);
  return empty;
}

/** A copy of a reply with a further option in its OPT record; the reply itself when it has none. */
export function withReason(reply: Buffer, option: Uint8Array): Buffer {
  const cursor = new RecordCursor().reset(reply, reply.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT || cursor.section !== SECTION.ADDITIONAL) continue;
    const { start, end } = cursor;
    const copy = Buffer.concat([reply.subarray(0, end), option, reply.subarray(end)]);
    addOption(copy, start, end, option);
    return copy;
  }
  return reply;
}

/** Adds an option to an OPT record that ends at `end`. */
function addOption(message: Uint8Array, optAt: number, end: number, option: Uint8Array): void {
  const lengthAt = optAt + 9;
  writeUint16(message, lengthAt, readUint16(message, lengthAt) + option.length);
  message.set(option, end);
}

/**
 * A copy of a reply without the answer records of some types. Its names are uncompressed, because a
 * remaining name may point into a removed record. OPT, if there is one, gets the error "Filtered". Returns the
 * reply itself when it has no such record; undefined when it is malformed or the copy would be too large.
 */
export function withoutTypes(
  reply: Buffer,
  isUnwanted: (type: number) => boolean,
): Buffer | undefined {
  const cursor = new RecordCursor();
  if (!hasAnswerOf(cursor.reset(reply, reply.length), isUnwanted)) return reply;
  const counts = new Uint16Array(3);
  cursor.reset(reply, reply.length);
  let to = cursor.end;
  scratch.set(reply.subarray(0, to));
  while (cursor.next()) {
    if (cursor.section === SECTION.ANSWER && isUnwanted(cursor.type)) continue;
    const start = to;
    to = copyRecord(reply, cursor, to);
    if (to < 0 || to + FILTERED_TYPE.length > scratch.length) return undefined;
    if (cursor.type === TYPE.OPT && cursor.section === SECTION.ADDITIONAL && scratch[start] === 0) {
      addOption(scratch, start, to, FILTERED_TYPE);
      to += FILTERED_TYPE.length;
    }
    counts[cursor.section]!++;
  }
  if (cursor.isMalformed()) return undefined;
  for (let i = 0; i < counts.length; i++) writeUint16(scratch, 6 + 2 * i, counts[i]!);
  return Buffer.from(scratch.subarray(0, to));
}

function hasAnswerOf(cursor: RecordCursor, isUnwanted: (type: number) => boolean): boolean {
  while (cursor.next() && cursor.section === SECTION.ANSWER) {
    if (isUnwanted(cursor.type)) return true;
  }
  return false;
}

/** Copies a cursor's record to `scratch` at `to` and returns the offset behind it, or -1. */
function copyRecord(reply: Uint8Array, record: RecordCursor, to: number): number {
  const ownerLength = expandName(reply, record.start, reply.length, owner);
  const at = to + ownerLength;
  if (ownerLength < 0) return -1;
  for (let i = 0; i < ownerLength; i++) scratch[to + i] = owner[i]!;
  const { type, rdataStart, end } = record;
  // It checks the free space, also for the fields before the data.
  const length = expandRdata(reply, type, rdataStart, end, scratch, at + 10);
  if (length < 0) return -1;
  writeUint16(scratch, at, type);
  writeUint16(scratch, at + 2, record.class);
  writeUint32(scratch, at + 4, readUint32(reply, record.ttlAt));
  writeUint16(scratch, at + 8, length);
  return at + 10 + length;
}
