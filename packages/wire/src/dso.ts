import { readUint16, writeUint16, writeUint32 } from './bytes.js';
import {
  FLAG,
  HEADER_BYTES,
  MAX_LABEL_BYTES,
  MAX_NAME_BYTES,
  OPCODE_DSO,
  OPCODE_MASK,
  RCODE_MASK,
} from './protocol.js';
import { CLUSTER_VERSION_BYTES, readSerial, writeSerial } from './cluster-version.js';
import { INSTANCE_BYTES, SERIAL_BYTES } from './zone-version.js';

/** TLV types: Keepalive (RFC 8490 section 7.1), and those of the range for private use (section 10.3). */
export const DSO_TYPE = {
  KEEPALIVE: 1,
  /** Of a zone: its name; in the response, the server's instance and serial. */
  SUBSCRIBE: 0xf800,
  /** Owner names that changed, after the serials before and after. */
  CHANGED: 0xf801,
  /** Everything may have changed; the serial after it. */
  FLUSH: 0xf802,
  /** The serial, every few seconds. */
  HEARTBEAT: 0xf803,
  /**
   * Beside an operation: the version of the cluster after it. Beside SUBSCRIBE: the subscriber knows such versions, and the
   * changes up to this one, if it has one.
   */
  CLUSTER_VERSION: 0xf804,
  /** Without data: a server that has refused a subscription with SERVFAIL takes it now. */
  READY: 0xf805,
  /** Without data: a server that ends soon. Until then it announces changes, and takes no more subscriptions. */
  LEAVING: 0xf806,
} as const;

/** A type with its data (RFC 8490 section 5.4.4). */
export interface DsoTlv {
  readonly type: number;
  readonly data: Uint8Array;
}

/** A message of DNS Stateful Operations (RFC 8490); the first TLV of a request is its operation. */
export interface DsoMessage {
  /** 0 for a message that wants no response. */
  readonly id: number;
  readonly isResponse: boolean;
  readonly rcode: number;
  readonly tlvs: readonly DsoTlv[];
}

const TLV_HEAD_BYTES = 4;
/** More than any operation has: empty ones take four bytes each, and an object. */
const MAX_TLVS = 16;

/** Whether a message has the opcode of DNS Stateful Operations. */
export function isDso(bytes: Uint8Array, length = bytes.length): boolean {
  return length >= HEADER_BYTES && (readUint16(bytes, 2) & OPCODE_MASK) === OPCODE_DSO;
}

/**
 * Reads a message for which `isDso` is true; undefined when it is malformed: it has records, more than MAX_TLVS, or
 * its TLVs do not end with it. The data of the TLVs is not copied.
 */
export function readDso(bytes: Uint8Array): DsoMessage | undefined {
  for (let at = 4; at < HEADER_BYTES; at++) if (bytes[at] !== 0) return undefined;
  const tlvs: DsoTlv[] = [];
  let at = HEADER_BYTES;
  while (at < bytes.length) {
    if (at + TLV_HEAD_BYTES > bytes.length || tlvs.length === MAX_TLVS) return undefined;
    const end = at + TLV_HEAD_BYTES + readUint16(bytes, at + 2);
    if (end > bytes.length) return undefined;
    tlvs.push({ type: readUint16(bytes, at), data: bytes.subarray(at + TLV_HEAD_BYTES, end) });
    at = end;
  }
  const flags = readUint16(bytes, 2);
  const isResponse = (flags & FLAG.QR) !== 0;
  return { id: readUint16(bytes, 0), isResponse, rcode: flags & RCODE_MASK, tlvs };
}

/** The bytes of a message; the caller keeps it below MAX_MESSAGE_BYTES. */
export function writeDso({ id, isResponse, rcode, tlvs }: DsoMessage): Uint8Array {
  const length = tlvs.reduce((sum, { data }) => sum + TLV_HEAD_BYTES + data.length, HEADER_BYTES);
  const bytes = new Uint8Array(length);
  writeUint16(bytes, 0, id);
  writeUint16(bytes, 2, (isResponse ? FLAG.QR : 0) | OPCODE_DSO | rcode);
  let at = HEADER_BYTES;
  for (const { type, data } of tlvs) {
    writeUint16(bytes, at, type);
    writeUint16(bytes, at + 2, data.length);
    bytes.set(data, at + TLV_HEAD_BYTES);
    at += TLV_HEAD_BYTES + data.length;
  }
  return bytes;
}

/**
 * A Keepalive (RFC 8490 section 7.1): a session may be inactive for this long, as it has a subscription, and each side is
 * heard as often.
 */
export function keepaliveTlv(ms: number): DsoTlv {
  const data = new Uint8Array(8);
  writeUint32(data, 0, ms);
  writeUint32(data, 4, ms);
  return { type: DSO_TYPE.KEEPALIVE, data };
}

/** What a server says of itself when it accepts a subscription. */
export interface Subscribed {
  /** As in a ZoneVersion: another one means another process, with other serials. */
  readonly instance: Uint8Array;
  /** How many CHANGED and FLUSH the process has sent. */
  readonly serial: number;
  /** The name of its zone, lower-cased in wire form: services are three labels below it. */
  readonly apex: Uint8Array;
}

/** Owner names whose records changed, each with everything below it. */
export interface Changed {
  /** The serials before and after. */
  readonly before: number;
  readonly after: number;
  /** Lower-cased, in wire form. */
  readonly names: readonly Uint8Array[];
}

const SUBSCRIBED_HEAD_BYTES = INSTANCE_BYTES + SERIAL_BYTES;
const CHANGED_HEAD_BYTES = 2 * SERIAL_BYTES;
/** Of one message; beyond, a server tells that everything may have changed. */
const MAX_NAMES = 256;

export function subscribedTlv({ instance, serial, apex }: Subscribed): DsoTlv {
  const data = new Uint8Array(SUBSCRIBED_HEAD_BYTES + apex.length);
  data.set(instance);
  writeSerial(data, INSTANCE_BYTES, serial);
  data.set(apex, SUBSCRIBED_HEAD_BYTES);
  return { type: DSO_TYPE.SUBSCRIBE, data };
}

/** Undefined when the data is malformed. */
export function readSubscribed(data: Uint8Array): Subscribed | undefined {
  if (plainNameEnd(data, SUBSCRIBED_HEAD_BYTES) !== data.length) return undefined;
  return {
    instance: Uint8Array.from(data.subarray(0, INSTANCE_BYTES)),
    serial: readSerial(data, INSTANCE_BYTES),
    apex: Uint8Array.from(data.subarray(SUBSCRIBED_HEAD_BYTES)),
  };
}

/** There are at most 256 names of 255 bytes, so that the message has a length that TCP can carry. */
export function changedTlv({ before, after, names }: Changed): DsoTlv {
  const length = names.reduce((sum, name) => sum + name.length, CHANGED_HEAD_BYTES);
  const data = new Uint8Array(length);
  writeSerial(data, 0, before);
  writeSerial(data, SERIAL_BYTES, after);
  let at = CHANGED_HEAD_BYTES;
  for (const name of names) {
    data.set(name, at);
    at += name.length;
  }
  return { type: DSO_TYPE.CHANGED, data };
}

/** Undefined when the data is malformed, or has more than 256 names. The names are not copied. */
export function readChanged(data: Uint8Array): Changed | undefined {
  if (data.length < CHANGED_HEAD_BYTES) return undefined;
  const names: Uint8Array[] = [];
  for (let at = CHANGED_HEAD_BYTES; at < data.length;) {
    const end = plainNameEnd(data, at);
    if (end < 0 || names.length === MAX_NAMES) return undefined;
    names.push(data.subarray(at, end));
    at = end;
  }
  return { before: readSerial(data, 0), after: readSerial(data, SERIAL_BYTES), names };
}

/** A FLUSH or a HEARTBEAT. */
export function serialTlv(type: number, serial: number): DsoTlv {
  const data = new Uint8Array(SERIAL_BYTES);
  writeSerial(data, 0, serial);
  return { type, data };
}

/** The serial of a FLUSH or a HEARTBEAT; undefined when the data is malformed. */
export function readSerialTlv(data: Uint8Array): number | undefined {
  return data.length === SERIAL_BYTES ? readSerial(data, 0) : undefined;
}

/** What a message says of the version of the cluster. */
export interface ClusterVersionNote {
  /** Of CLUSTER_VERSION_BYTES; undefined where there is none. */
  readonly version: Uint8Array | undefined;
  /** Other messages with changes up to this version follow. */
  readonly isPart: boolean;
  /** The changes after the version of the subscriber follow; else it must take any record for changed. */
  readonly isResumed: boolean;
}

const IS_PART = 1;
const IS_RESUMED = 2;

export function clusterVersionTlv(
  version: Uint8Array | undefined,
  { isPart = false, isResumed = false } = {},
): DsoTlv {
  const data = new Uint8Array(1 + (version?.length ?? 0));
  data[0] = (isPart ? IS_PART : 0) | (isResumed ? IS_RESUMED : 0);
  if (version !== undefined) data.set(version, 1);
  return { type: DSO_TYPE.CLUSTER_VERSION, data };
}

/** What a message has beside its operation; undefined when it has no sound one: who sent it does not know such versions. */
export function readClusterVersion(tlvs: readonly DsoTlv[]): ClusterVersionNote | undefined {
  let data: Uint8Array | undefined;
  for (let at = 1; data === undefined && at < tlvs.length; at++)
    if (tlvs[at]!.type === DSO_TYPE.CLUSTER_VERSION) ({ data } = tlvs[at]!);
  if (data?.length !== 1 && data?.length !== 1 + CLUSTER_VERSION_BYTES) return undefined;
  const version = data.length === 1 ? undefined : new Uint8Array(data.subarray(1));
  return { version, isPart: (data[0]! & IS_PART) !== 0, isResumed: (data[0]! & IS_RESUMED) !== 0 };
}

/** The offset after the uncompressed name at `at` of bytes that may be anything; -1 when there is none. */
export function plainNameEnd(data: Uint8Array, at: number): number {
  for (let next = at; next < data.length && next - at < MAX_NAME_BYTES; next += 1 + data[next]!) {
    if (data[next] === 0) return next + 1;
    if (data[next]! > MAX_LABEL_BYTES) return -1;
  }
  return -1;
}
