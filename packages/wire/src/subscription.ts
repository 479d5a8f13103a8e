import { DSO_TYPE, type DsoTlv } from './dso.js';
import { MAX_LABEL_BYTES, MAX_NAME_BYTES } from './protocol.js';
import { INSTANCE_BYTES, readSerial, SERIAL_BYTES, writeSerial } from './zone-version.js';

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

/** The offset after the uncompressed name at `at` of bytes that may be anything; -1 when there is none. */
export function plainNameEnd(data: Uint8Array, at: number): number {
  for (let next = at; next < data.length && next - at < MAX_NAME_BYTES; next += 1 + data[next]!) {
    if (data[next] === 0) return next + 1;
    if (data[next]! > MAX_LABEL_BYTES) return -1;
  }
  return -1;
}
