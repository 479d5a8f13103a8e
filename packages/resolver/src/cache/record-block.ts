import { CLASS, readUint16, readUint32, writeUint16, writeUint32 } from '@kube-dns/wire';

/** Owner (always a pointer), type, class, TTL and length of a record as the cache stores it. */
export const RECORD_HEAD_BYTES = 12;
const TYPE_OFFSET = 2;
const CLASS_OFFSET = 4;
const TTL_OFFSET = 6;
const LENGTH_OFFSET = 10;

/** Writes the part of a record before its data, class IN. */
export function writeRecordHead(
  bytes: Uint8Array,
  at: number,
  ownerPointer: number,
  type: number,
  ttlSeconds: number,
  rdataLength: number,
): void {
  setOwner(bytes, at, ownerPointer);
  writeUint16(bytes, at + TYPE_OFFSET, type);
  writeUint16(bytes, at + CLASS_OFFSET, CLASS.IN);
  setTtl(bytes, at, ttlSeconds);
  writeUint16(bytes, at + LENGTH_OFFSET, rdataLength);
}

export function setOwner(bytes: Uint8Array, at: number, pointer: number): void {
  writeUint16(bytes, at, pointer);
}

/** The TTL of the record at an offset, in seconds. */
export function ttlOf(bytes: Uint8Array, at: number): number {
  return readUint32(bytes, at + TTL_OFFSET);
}

export function setTtl(bytes: Uint8Array, at: number, seconds: number): void {
  writeUint32(bytes, at + TTL_OFFSET, seconds);
}

/** The offset after this many records whose owners are pointers. */
export function skipRecords(bytes: Uint8Array, at: number, count: number): number {
  for (; count > 0; count--) at += RECORD_HEAD_BYTES + readUint16(bytes, at + LENGTH_OFFSET);
  return at;
}

/**
 * Subtracts `ageSeconds` from the TTLs of the records at `start`, whose owners are pointers; 0 at least, and
 * no more than the ceiling unless that is 0.
 */
export function ageRecords(
  bytes: Uint8Array,
  start: number,
  count: number,
  ageSeconds: number,
  ceilingSeconds: number,
): void {
  for (let at = start; count > 0; count--) {
    let left = ttlOf(bytes, at) - ageSeconds;
    if (left < 0) left = 0;
    else if (ceilingSeconds > 0 && left > ceilingSeconds) left = ceilingSeconds;
    setTtl(bytes, at, left);
    at = skipRecords(bytes, at, 1);
  }
}

/** Sets the TTLs of the records at `start`, as above. */
export function setTtls(bytes: Uint8Array, start: number, count: number, seconds: number): void {
  for (let at = start; count > 0; count--) {
    setTtl(bytes, at, seconds);
    at = skipRecords(bytes, at, 1);
  }
}

/**
 * Rotates the `setSize` records after the CNAMEs at `start`: the first `turn` of them become the last. No
 * pointer may lead into them. `scratch` is as large as the records.
 */
export function rotateRecords(
  bytes: Uint8Array,
  start: number,
  cnames: number,
  setSize: number,
  turn: number,
  scratch: Uint8Array,
): void {
  const setStart = skipRecords(bytes, start, cnames);
  const split = skipRecords(bytes, setStart, turn);
  const end = skipRecords(bytes, split, setSize - turn);
  const moved = split - setStart;
  for (let i = 0; i < moved; i++) scratch[i] = bytes[setStart + i]!;
  bytes.copyWithin(setStart, split, end);
  const behind = end - moved;
  for (let i = 0; i < moved; i++) bytes[behind + i] = scratch[i]!;
}

/** Writes the header of a response to one question. */
export function writeResponseHeader(
  bytes: Uint8Array,
  id: number,
  flags: number,
  answers: number,
  authorities: number,
): void {
  writeUint16(bytes, 0, id);
  writeUint16(bytes, 2, flags);
  writeUint16(bytes, 4, 1);
  writeUint16(bytes, 6, answers);
  writeUint16(bytes, 8, authorities);
  writeUint16(bytes, 10, 0);
}
