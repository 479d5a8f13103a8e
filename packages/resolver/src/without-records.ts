import {
  expandName,
  expandRdata,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  readUint16,
  readUint32,
  RecordCursor,
  SECTION,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';

/** Scratch space for a copy, and for the owner of one of its records; results are copied out of it. */
const scratch = new Uint8Array(MAX_MESSAGE_BYTES);
const owner = new Uint8Array(MAX_NAME_BYTES);

/** Adds an option to an OPT record that ends at `end`. */
export function addOption(
  message: Uint8Array,
  optAt: number,
  end: number,
  option: Uint8Array,
): void {
  const lengthAt = optAt + 9;
  writeUint16(message, lengthAt, readUint16(message, lengthAt) + option.length);
  message.set(option, end);
}

/** Which records are meant. */
export type RecordPredicate = (record: RecordCursor, reply: Uint8Array) => boolean;

/**
 * A copy of a reply without some records. Its names are uncompressed, because a remaining name may point into a removed
 * record. OPT, if there is one, gets the option. Returns the reply itself when it has no such record; undefined when it is
 * malformed or the copy would be too large.
 */
export function withoutRecords(
  reply: Buffer,
  isUnwanted: RecordPredicate,
  option: Uint8Array,
): Buffer | undefined {
  const cursor = new RecordCursor();
  if (!hasRecord(cursor.reset(reply, reply.length), reply, isUnwanted)) return reply;
  const counts = new Uint16Array(3);
  cursor.reset(reply, reply.length);
  let to = cursor.end;
  scratch.set(reply.subarray(0, to));
  while (cursor.next()) {
    if (isUnwanted(cursor, reply)) continue;
    const start = to;
    to = copyRecord(reply, cursor, to);
    if (to < 0 || to + option.length > scratch.length) return undefined;
    if (cursor.type === TYPE.OPT && cursor.section === SECTION.ADDITIONAL && scratch[start] === 0) {
      addOption(scratch, start, to, option);
      to += option.length;
    }
    counts[cursor.section]!++;
  }
  if (cursor.isMalformed()) return undefined;
  for (let i = 0; i < counts.length; i++) writeUint16(scratch, 6 + 2 * i, counts[i]!);
  return Buffer.from(scratch.subarray(0, to));
}

function hasRecord(cursor: RecordCursor, reply: Uint8Array, isWanted: RecordPredicate): boolean {
  while (cursor.next()) {
    if (isWanted(cursor, reply)) return true;
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
