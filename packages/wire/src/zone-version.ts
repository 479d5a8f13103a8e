import { readUint16, writeUint16 } from './bytes.js';
import { ANSWER_VERSION_BYTES, readSerial, writeSerial } from './cluster-version.js';
import { EDNS_OPTION, OPT_BYTES, OPTION_HEAD_BYTES } from './opt-record.js';
import { TYPE } from './protocol.js';
import { RecordCursor } from './record-cursor.js';

/** Which process answered, and which of its changes its answer knows (RFC 9660). */
export interface ZoneVersion {
  /** Labels of the zone's name. */
  readonly labelCount: number;
  /** Of INSTANCE_BYTES, drawn at random when the process starts. */
  readonly instance: Uint8Array;
  /** How many changes of its zone the process has told. */
  readonly serial: number;
  /** The same in the numbers of all replicas, of ANSWER_VERSION_BYTES at least; undefined where there is none, or the client does not know it. */
  readonly cluster?: Uint8Array | undefined;
}

/** Bytes of an instance, and of a serial. */
export const INSTANCE_BYTES = 8;
export const SERIAL_BYTES = 8;
/** The types of our versions: the first of those for local use (RFC 9660 section 7.2). */
const INSTANCE_AND_SERIAL = 246;
/** The same, then the version of the cluster. */
const WITH_CLUSTER_VERSION = 247;
const VERSION_HEAD_BYTES = 2;
const PROCESS_BYTES = INSTANCE_BYTES + SERIAL_BYTES;
const DATA_BYTES = VERSION_HEAD_BYTES + PROCESS_BYTES;
/** Bytes of the option without, and with the version of the cluster. */
export const ZONE_VERSION_BYTES = OPTION_HEAD_BYTES + DATA_BYTES;
export const CLUSTER_ZONE_VERSION_BYTES = ZONE_VERSION_BYTES + ANSWER_VERSION_BYTES;

/** Over the message that is looked at now. */
const cursor = new RecordCursor();

/** The option that asks for the version: without data. */
export const ZONE_VERSION_REQUEST = Uint8Array.of(0, EDNS_OPTION.ZONE_VERSION, 0, 0);
/** With a second one, of local use (RFC 6891 section 9): this client knows versions of the cluster. */
export const CLUSTER_VERSION_REQUEST = Uint8Array.of(
  ...ZONE_VERSION_REQUEST,
  EDNS_OPTION.CLUSTER_VERSION >> 8,
  EDNS_OPTION.CLUSTER_VERSION & 0xff,
  0,
  0,
);

/** Whether the first option of an OPT record's data, from `at` to `end`, asks for the version. */
export function isZoneVersionRequest(bytes: Uint8Array, at: number, end: number): boolean {
  return isEmptyOption(bytes, at, end, EDNS_OPTION.ZONE_VERSION);
}

/** Whether the option after that says that the client knows versions of the cluster. */
export function isClusterVersionRequest(bytes: Uint8Array, at: number, end: number): boolean {
  return isEmptyOption(bytes, at + OPTION_HEAD_BYTES, end, EDNS_OPTION.CLUSTER_VERSION);
}

function isEmptyOption(bytes: Uint8Array, at: number, end: number, code: number): boolean {
  if (at + OPTION_HEAD_BYTES > end) return false;
  return readUint16(bytes, at) === code && readUint16(bytes, at + 2) === 0;
}

/**
 * Adds the version to an answer of `length` bytes that ends with an OPT record, as its last option, and returns its new
 * length; the same when it does not end so, or would have more than `maxBytes`.
 */
export function appendZoneVersion(
  out: Uint8Array,
  length: number,
  maxBytes: number,
  { labelCount, instance, serial, cluster }: ZoneVersion,
): number {
  const clusterBytes = cluster === undefined ? 0 : ANSWER_VERSION_BYTES;
  const end = appendOption(out, length, maxBytes, labelCount, clusterBytes);
  if (end === length) return length;
  const at = end - clusterBytes - PROCESS_BYTES;
  for (let i = 0; i < INSTANCE_BYTES; i++) out[at + i] = instance[i]!;
  writeSerial(out, at + INSTANCE_BYTES, serial);
  for (let i = 0; i < clusterBytes; i++) out[at + PROCESS_BYTES + i] = cluster![i]!;
  return end;
}

/** Adds the option up to its version, whose bytes are still to be written. */
function appendOption(
  out: Uint8Array,
  length: number,
  maxBytes: number,
  labelCount: number,
  clusterBytes: number,
): number {
  const optionBytes = ZONE_VERSION_BYTES + clusterBytes;
  const end = length + optionBytes;
  if (end > Math.min(maxBytes, out.length)) return length;
  const lengthAt = optLengthAt(out, length);
  if (lengthAt < 0) return length;
  writeUint16(out, lengthAt, readUint16(out, lengthAt) + optionBytes);
  writeUint16(out, length, EDNS_OPTION.ZONE_VERSION);
  writeUint16(out, length + 2, optionBytes - OPTION_HEAD_BYTES);
  out[length + 4] = labelCount;
  out[length + 5] = clusterBytes > 0 ? WITH_CLUSTER_VERSION : INSTANCE_AND_SERIAL;
  return end;
}

/** Labels of a version in an answer that is of no zone whose changes are announced: it has its TTL. */
export const NO_ZONE_LABELS = 0;

/** The labels of the zone that a version is of, whose instance is at an offset. */
export function zoneLabelsAt(message: Uint8Array, at: number): number {
  return message[at - VERSION_HEAD_BYTES]!;
}

/** The offset of the instance and then the serial in a message that ends as `appendZoneVersion` left it; else -1. */
export function zoneVersionAt(message: Uint8Array): number {
  if (hasVersion(message, ZONE_VERSION_BYTES, INSTANCE_AND_SERIAL)) {
    return message.length - PROCESS_BYTES;
  }
  return hasVersion(message, CLUSTER_ZONE_VERSION_BYTES, WITH_CLUSTER_VERSION)
    ? message.length - ANSWER_VERSION_BYTES - PROCESS_BYTES
    : -1;
}

function hasVersion(message: Uint8Array, optionBytes: number, type: number): boolean {
  const optionAt = message.length - optionBytes;
  return (
    optionAt > 0 &&
    readUint16(message, optionAt) === EDNS_OPTION.ZONE_VERSION &&
    readUint16(message, optionAt + 2) === optionBytes - OPTION_HEAD_BYTES &&
    message[optionAt + OPTION_HEAD_BYTES + 1] === type &&
    (isOpt(message, optionAt - OPT_BYTES, optionBytes) || isLastOption(message, optionAt))
  );
}

/** Whether the option at an offset is the last one of the OPT record that ends a message; others are before it. */
function isLastOption(message: Uint8Array, optionAt: number): boolean {
  const lengthAt = optLengthAt(message, message.length);
  if (lengthAt < 0) return false;
  let at = lengthAt + 2;
  while (at < optionAt) at += OPTION_HEAD_BYTES + readUint16(message, at + 2);
  return at === optionAt;
}

/** The offset of the version of the cluster beside the instance at an offset; -1 without one. */
export function clusterVersionAt(message: Uint8Array, instanceAt: number): number {
  return message[instanceAt - 1] === WITH_CLUSTER_VERSION ? instanceAt + PROCESS_BYTES : -1;
}

/** Whether a version, whose instance is at an offset, is of this one. */
export function isOfInstance(message: Uint8Array, at: number, instance: Uint8Array): boolean {
  for (let i = 0; i < INSTANCE_BYTES; i++) if (message[at + i] !== instance[i]) return false;
  return true;
}

/** Replaces the process's part of the version whose instance is at an offset. */
export function replaceZoneVersion(
  message: Uint8Array,
  at: number,
  { instance, serial }: Pick<ZoneVersion, 'instance' | 'serial'>,
): void {
  for (let i = 0; i < INSTANCE_BYTES; i++) message[at + i] = instance[i]!;
  writeSerial(message, at + INSTANCE_BYTES, serial);
}

/** Makes the version at the end of a message, whose instance is at an offset, one of no process and no cluster. */
export function voidZoneVersion(message: Uint8Array, at: number): void {
  message.fill(0, at);
}

/**
 * Adds the version of a reply to what a client gets of it in `out`, as `appendZoneVersion`: of this instance; of another one
 * only with the version of the cluster, which a client gets that knows it.
 */
export function passZoneVersion(
  reply: Uint8Array,
  out: Uint8Array,
  length: number,
  maxBytes: number,
  instance: Uint8Array,
  knowsCluster = false,
): number {
  const at = zoneVersionAt(reply);
  if (at < 0) return length;
  const clusterBytes = knowsCluster && clusterVersionAt(reply, at) >= 0 ? ANSWER_VERSION_BYTES : 0;
  if (clusterBytes === 0 && !isOfInstance(reply, at, instance)) return length;
  const labelCount = zoneLabelsAt(reply, at);
  const end = appendOption(out, length, maxBytes, labelCount, clusterBytes);
  const bytes = PROCESS_BYTES + clusterBytes;
  if (end > length) for (let i = 0; i < bytes; i++) out[end - bytes + i] = reply[at + i]!;
  return end;
}

/** The serial of a version whose instance is at an offset. */
export function serialAt(message: Uint8Array, at: number): number {
  return readSerial(message, at + INSTANCE_BYTES);
}

/** Where the length of the data is of the OPT record that ends a message of `length` bytes; -1 when none does. */
function optLengthAt(message: Uint8Array, length: number): number {
  if (isOpt(message, length - OPT_BYTES, 0)) return length - 2;
  // It has options, such as an Extended DNS Error.
  cursor.reset(message, length);
  let isLast = false;
  while (cursor.next()) isLast = cursor.type === TYPE.OPT;
  return isLast && !cursor.isMalformed() && cursor.end === length ? cursor.rdataStart - 2 : -1;
}

function isOpt(message: Uint8Array, at: number, dataBytes: number): boolean {
  if (at < 0 || message[at] !== 0 || readUint16(message, at + 1) !== TYPE.OPT) return false;
  return readUint16(message, at + OPT_BYTES - 2) === dataBytes;
}
