import { readUint32, writeUint32 } from './bytes.js';

/**
 * A version of the cluster's records, which all replicas of a server count alike, as bytes: an identity, then two
 * numbers for each resource. Servers with the same identity give the same answers at the same numbers: the history of the
 * API server and all that shapes answers are the same. The numbers are resourceVersions, which can be compared within a
 * resource (KEP-5504):
 *
 *     identity   known   seen   changed
 *         8      3 × 8  3 × 8    3 × 8    bytes; for services, endpoints and namespaces each
 *
 * `known`: every change up to this version is in the records; a bookmark raises it, too. `seen`: that of the last object that
 * was seen, which a replica that is not behind knows. `changed`: nothing has changed after it; that of a list, where it is not
 * known what was deleted before. An answer has none, an announcement has all.
 */
export const CLUSTER_VERSION_BYTES = 80;
/** The bytes of it that an answer has. */
export const ANSWER_VERSION_BYTES = 56;
export const IDENTITY_BYTES = 8;
/** Services, their endpoints, and namespaces: the order of their numbers. */
export const VERSIONED_RESOURCES = 3;
const NUMBER_BYTES = 8;
const KNOWN_AT = IDENTITY_BYTES;
const SEEN_AT = KNOWN_AT + VERSIONED_RESOURCES * NUMBER_BYTES;
const CHANGED_AT = SEEN_AT + VERSIONED_RESOURCES * NUMBER_BYTES;

/** The version of a resource up to which changes are known, in a cluster version at an offset. */
export function knownOf(bytes: Uint8Array, at: number, resource: number): number {
  return readSerial(bytes, at + KNOWN_AT + resource * NUMBER_BYTES);
}

/** The version of the last object of a resource that was seen. */
export function seenOf(bytes: Uint8Array, at: number, resource: number): number {
  return readSerial(bytes, at + SEEN_AT + resource * NUMBER_BYTES);
}

/** The version of a resource after which nothing has changed; not of an answer. */
export function changedOf(bytes: Uint8Array, at: number, resource: number): number {
  return readSerial(bytes, at + CHANGED_AT + resource * NUMBER_BYTES);
}

export function setKnown(version: Uint8Array, resource: number, value: number): void {
  writeSerial(version, KNOWN_AT + resource * NUMBER_BYTES, value);
}

export function setSeen(version: Uint8Array, resource: number, value: number): void {
  writeSerial(version, SEEN_AT + resource * NUMBER_BYTES, value);
}

export function setChanged(version: Uint8Array, resource: number, value: number): void {
  writeSerial(version, CHANGED_AT + resource * NUMBER_BYTES, value);
}

/** Whether a cluster version at an offset has the identity of another one: only then their numbers can be compared. */
export function hasSameIdentity(bytes: Uint8Array, at: number, version: Uint8Array): boolean {
  for (let i = 0; i < IDENTITY_BYTES; i++) if (bytes[at + i] !== version[i]) return false;
  return true;
}

/** Raises the numbers of a version to those of another one with the same identity, where they are higher. */
export function raiseTo(version: Uint8Array, other: Uint8Array): void {
  for (let at = KNOWN_AT; at < version.length; at += NUMBER_BYTES) {
    writeSerial(version, at, Math.max(readSerial(version, at), readSerial(other, at)));
  }
}

/** Serials and versions are counted, 64 bits on the wire; here they stay below 2^53. */
export function readSerial(data: Uint8Array, at: number): number {
  return readUint32(data, at) * 0x1_0000_0000 + readUint32(data, at + 4);
}

export function writeSerial(data: Uint8Array, at: number, serial: number): void {
  writeUint32(data, at, Math.floor(serial / 0x1_0000_0000));
  writeUint32(data, at + 4, serial % 0x1_0000_0000);
}
