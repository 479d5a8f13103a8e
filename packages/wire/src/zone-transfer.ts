import { readUint32 } from './bytes.js';
import { equalNames, expandKey } from './name.js';
import { CLASS, MAX_NAME_BYTES, TYPE } from './protocol.js';
import type { Query } from './query.js';
import { RecordCursor, SECTION } from './record-cursor.js';

/** The serial is the first of five 32-bit numbers at the end of the data of an SOA record. */
const SOA_NUMBERS_BYTES = 20;

/**
 * The serial that the client of an IXFR has: that of the one SOA record in the authority section, which is of the zone that is
 * asked for (RFC 1995 section 3). Undefined where there is none, or something else.
 */
export function readIxfrSerial(query: Query): number | undefined {
  const message = query.bytes.subarray(0, query.length);
  const cursor = new RecordCursor().reset(message, query.length);
  let serial: number | undefined;
  let count = 0;
  while (cursor.next()) {
    if (cursor.section !== SECTION.AUTHORITY) continue;
    count++;
    if (cursor.type !== TYPE.SOA || cursor.class !== CLASS.IN) return undefined;
    if (!isOwner(message, cursor.start, query)) return undefined;
    serial = soaSerialAt(message, cursor.rdataStart, cursor.end);
  }
  return count === 1 && !cursor.isMalformed() ? serial : undefined;
}

/** Whether serial `one` is newer than `other` (RFC 1982 section 3.2); false where neither is. */
export function isNewerSerial(one: number, other: number): boolean {
  const difference = (one - other) >>> 0;
  return difference !== 0 && difference < 0x8000_0000;
}

function isOwner(message: Uint8Array, at: number, { name, nameLength, length }: Query): boolean {
  const owner = new Uint8Array(MAX_NAME_BYTES);
  const ownerBytes = expandKey(message, at, length, owner);
  return ownerBytes > 0 && equalNames(owner.subarray(0, ownerBytes), name.subarray(0, nameLength));
}

/** The serial in the data of an SOA record; undefined where that is not two names and five numbers. */
function soaSerialAt(message: Uint8Array, start: number, end: number): number | undefined {
  let at = start;
  for (let names = 0; names < 2; names++) {
    while (at < end && message[at]! > 0 && message[at]! < 0xc0) at += 1 + message[at]!;
    if (at >= end) return undefined;
    at += message[at] === 0 ? 1 : 2;
  }
  return at + SOA_NUMBERS_BYTES === end ? readUint32(message, at) : undefined;
}
