import { readUint16, readUint32, writeUint16, writeUint32 } from './bytes.js';
import { EDNS_OPTION, OPT_BYTES, OPTION_HEAD_BYTES } from './opt-record.js';
import { TYPE } from './protocol.js';

/** Which process answered, and which of its changes its answer knows (RFC 9660). */
export interface ZoneVersion {
  /** Labels of the zone's name. */
  readonly labelCount: number;
  /** Of INSTANCE_BYTES, drawn at random when the process starts. */
  readonly instance: Uint8Array;
  /** How many changes of its zone the process has told. */
  readonly serial: number;
}

/** Bytes of an instance, and of a serial. */
export const INSTANCE_BYTES = 8;
export const SERIAL_BYTES = 8;
/** The type of our versions: the first of those for local use (RFC 9660 section 7.2). */
const INSTANCE_AND_SERIAL = 246;
const VERSION_HEAD_BYTES = 2;
const DATA_BYTES = VERSION_HEAD_BYTES + INSTANCE_BYTES + SERIAL_BYTES;
/** Bytes of the option. */
export const ZONE_VERSION_BYTES = OPTION_HEAD_BYTES + DATA_BYTES;

/** The option that asks for the version: without data. */
export const ZONE_VERSION_REQUEST = Uint8Array.of(0, EDNS_OPTION.ZONE_VERSION, 0, 0);

/** Whether the first option of an OPT record's data, from `at` to `end`, asks for the version. */
export function isZoneVersionRequest(bytes: Uint8Array, at: number, end: number): boolean {
  if (at + OPTION_HEAD_BYTES > end) return false;
  return readUint16(bytes, at) === EDNS_OPTION.ZONE_VERSION && readUint16(bytes, at + 2) === 0;
}

/**
 * Adds the version to an answer of `length` bytes that ends with an OPT record without options, and returns its new
 * length; the same when it does not, or would have more than `maxBytes`.
 */
export function appendZoneVersion(
  out: Uint8Array,
  length: number,
  maxBytes: number,
  { labelCount, instance, serial }: ZoneVersion,
): number {
  const end = length + ZONE_VERSION_BYTES;
  if (end > Math.min(maxBytes, out.length) || !isOpt(out, length - OPT_BYTES, 0)) return length;
  writeUint16(out, length - 2, ZONE_VERSION_BYTES);
  writeUint16(out, length, EDNS_OPTION.ZONE_VERSION);
  writeUint16(out, length + 2, DATA_BYTES);
  out[length + 4] = labelCount;
  out[length + 5] = INSTANCE_AND_SERIAL;
  const versionAt = length + OPTION_HEAD_BYTES + VERSION_HEAD_BYTES;
  for (let i = 0; i < INSTANCE_BYTES; i++) out[versionAt + i] = instance[i]!;
  writeSerial(out, versionAt + INSTANCE_BYTES, serial);
  return end;
}

/** The offset of the instance and then the serial in a message that ends as `appendZoneVersion` left it; else -1. */
export function zoneVersionAt(message: Uint8Array): number {
  const optionAt = message.length - ZONE_VERSION_BYTES;
  if (!isOpt(message, optionAt - OPT_BYTES, ZONE_VERSION_BYTES)) return -1;
  const isVersion =
    readUint16(message, optionAt) === EDNS_OPTION.ZONE_VERSION &&
    readUint16(message, optionAt + 2) === DATA_BYTES &&
    message[optionAt + OPTION_HEAD_BYTES + 1] === INSTANCE_AND_SERIAL;
  return isVersion ? message.length - INSTANCE_BYTES - SERIAL_BYTES : -1;
}

/** Whether a version, whose instance is at an offset, is of this one. */
export function isOfInstance(message: Uint8Array, at: number, instance: Uint8Array): boolean {
  for (let i = 0; i < INSTANCE_BYTES; i++) if (message[at + i] !== instance[i]) return false;
  return true;
}

/** Replaces the version whose instance is at an offset. */
export function replaceZoneVersion(
  message: Uint8Array,
  at: number,
  { instance, serial }: Pick<ZoneVersion, 'instance' | 'serial'>,
): void {
  for (let i = 0; i < INSTANCE_BYTES; i++) message[at + i] = instance[i]!;
  writeSerial(message, at + INSTANCE_BYTES, serial);
}

/** Adds the version of a reply to what a client gets of it in `out`, as `appendZoneVersion`, if it is of this instance. */
export function passZoneVersion(
  reply: Uint8Array,
  out: Uint8Array,
  length: number,
  maxBytes: number,
  instance: Uint8Array,
): number {
  const at = zoneVersionAt(reply);
  if (at < 0 || !isOfInstance(reply, at, instance)) return length;
  const serial = readSerial(reply, at + INSTANCE_BYTES);
  const labelCount = reply[at - VERSION_HEAD_BYTES]!;
  return appendZoneVersion(out, length, maxBytes, { labelCount, instance, serial });
}

/** Serials are counted, 64 bits on the wire; here they stay below 2^53. */
export function readSerial(data: Uint8Array, at: number): number {
  return readUint32(data, at) * 0x1_0000_0000 + readUint32(data, at + 4);
}

export function writeSerial(data: Uint8Array, at: number, serial: number): void {
  writeUint32(data, at, Math.floor(serial / 0x1_0000_0000));
  writeUint32(data, at + 4, serial % 0x1_0000_0000);
}

function isOpt(message: Uint8Array, at: number, dataBytes: number): boolean {
  if (at < 0 || message[at] !== 0 || readUint16(message, at + 1) !== TYPE.OPT) return false;
  return readUint16(message, at + OPT_BYTES - 2) === dataBytes;
}
