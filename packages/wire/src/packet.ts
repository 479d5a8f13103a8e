import { isIPv4, isIPv6 } from 'node:net';
import packet from 'dns-packet';
import type { Answer, DecodedPacket, Packet, RecordClass, RecordType, TxtData } from 'dns-packet';
import { shortIpv6 } from './address.js';
import { readUint16, writeUint16 } from './bytes.js';
import { WireError, type WireErrorCode } from './errors.js';
import { encodeName } from './name.js';
import { FLAG, HEADER_BYTES, QUESTION_OFFSET } from './protocol.js';
import { RecordCursor } from './record-cursor.js';

/** A record as dns-packet shows it: names without trailing dot, TXT data as Buffers. */
export type DecodedRecord = Answer;

/** A decoded message, for code that looks at messages and does not forward them. */
export interface DecodedMessage {
  readonly id: number;
  readonly rcode: string;
  readonly isTruncated: boolean;
  readonly isAuthoritative: boolean;
  readonly questions: readonly { readonly name: string; readonly type: string }[];
  readonly answers: readonly DecodedRecord[];
  readonly authorities: readonly DecodedRecord[];
  readonly additionals: readonly DecodedRecord[];
}

export interface QueryFields {
  readonly id: number;
  /** Presentation text, trailing dot optional. */
  readonly name: string;
  /** A type's name, as `SRV`. */
  readonly type: string;
  readonly class?: 'IN' | 'CH';
  /** RD; set by default. */
  readonly recursionDesired?: boolean;
}

/** Most bytes of one string in a TXT record (RFC 1035 section 3.3). */
const MAX_STRING_BYTES = 255;
/** Where pointers can point to: their offset has 14 bits (RFC 1035 section 4.1.4). */
const MAX_POINTER_TARGETS = 0x4000;
/** This many pointers in a row, without a label between them, may be in a message; servers write one. */
const MAX_POINTER_CHAIN = 16;

/** Builds a query of one question without EDNS; throws a WireError for a bad name or type. */
export function encodeQuery(fields: QueryFields): Buffer {
  // dns-packet checks no name: it gets the root, which the checked name then replaces.
  const name = encodeName(fields.name);
  const type = fields.type as RecordType;
  const message = pack('bad-message', `a question of type ${JSON.stringify(fields.type)}`, {
    type: 'query',
    id: fields.id,
    flags: fields.recursionDesired === false ? 0 : FLAG.RD,
    questions: [{ name: '.', type, class: (fields.class ?? 'IN') satisfies RecordClass }],
  });
  if (readUint16(message, QUESTION_OFFSET + 1) === 0) {
    throw new WireError('bad-message', `unknown record type ${JSON.stringify(fields.type)}`);
  }
  const head = message.subarray(0, QUESTION_OFFSET);
  return Buffer.concat([head, name, message.subarray(QUESTION_OFFSET + 1)]);
}

/**
 * Decodes a message with dns-packet, after a check of its records: dns-packet trusts the counts in the
 * header and follows any chain of pointers, so a small message could block the event loop. Throws a
 * WireError when malformed.
 */
export function decodeMessage(bytes: Uint8Array): DecodedMessage {
  checkRecords(bytes);
  return decodeChecked(bytes);
}

/** As decodeMessage, but decodes at most `maxAnswers` answers, and nothing after them. */
export function decodeFirstAnswers(bytes: Uint8Array, maxAnswers: number): DecodedMessage {
  checkRecords(bytes);
  return decodeChecked(firstAnswers(bytes, maxAnswers));
}

/**
 * The rdata of one record in wire form, without its length; names in it are uncompressed. Throws a
 * WireError for data that the type cannot hold: a bad name, address, number or string.
 */
export function encodeRdata(record: Answer): Uint8Array {
  switch (record.type) {
    case 'CNAME':
    case 'DNAME':
    case 'NS':
    case 'PTR':
      return encodeName(record.data);
    case 'MX': {
      const { data } = record;
      return joinName(packRdata({ ...record, data: { ...data, exchange: '.' } }), data.exchange);
    }
    case 'SRV': {
      const { data } = record;
      return joinName(packRdata({ ...record, data: { ...data, target: '.' } }), data.target);
    }
    case 'SOA': {
      const { data } = record;
      const packed = packRdata({ ...record, data: { ...data, mname: '.', rname: '.' } });
      return joinBytes(encodeName(data.mname), encodeName(data.rname), packed.subarray(2));
    }
    case 'TXT':
      return packRdata({ ...record, data: textStrings(record.data) });
    // dns-packet accepts any text, and encodes a few spellings of IPv6 wrongly.
    case 'A':
      if (!isIPv4(record.data)) throw badRdata(record.type, record.data);
      return packRdata(record);
    case 'AAAA':
      if (!isIPv6(record.data) || record.data.includes('%')) {
        throw badRdata(record.type, record.data);
      }
      return packRdata({ ...record, data: shortIpv6(record.data) });
    default:
      return packRdata(record);
  }
}

/** The rdata with the root at its end replaced by a name, which dns-packet would not have checked. */
function joinName(rdata: Uint8Array, name: string): Uint8Array {
  return joinBytes(rdata.subarray(0, -1), encodeName(name));
}

function joinBytes(...parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** A copy, because dns-packet writes into the list that it gets. */
function textStrings(data: TxtData): Buffer[] {
  const strings = (Array.isArray(data) ? data : [data]).map((text) => Buffer.from(text));
  const tooLong = strings.find((text) => text.length > MAX_STRING_BYTES);
  if (tooLong !== undefined) throw badRdata('TXT', tooLong.toString());
  return strings;
}

function packRdata(record: Answer): Uint8Array {
  const message = pack('bad-rdata', `the data of a ${record.type} record`, {
    type: 'response',
    answers: [{ ...record, name: '.' }],
  });
  const cursor = new RecordCursor().reset(message, message.length);
  cursor.next();
  return new Uint8Array(message.subarray(cursor.rdataStart, cursor.end));
}

function badRdata(type: string, data: string): WireError {
  return new WireError('bad-rdata', `${JSON.stringify(data)} is no data for ${type}`);
}

function pack(code: WireErrorCode, what: string, message: Packet): Buffer {
  try {
    return packet.encode(message);
  } catch (cause) {
    throw new WireError(code, `cannot encode ${what}`, { cause });
  }
}

function checkRecords(bytes: Uint8Array): void {
  if (bytes.length < HEADER_BYTES) {
    throw new WireError('bad-message', `message of ${bytes.length} bytes is shorter than a header`);
  }
  const cursor = new RecordCursor().reset(bytes, bytes.length);
  while (cursor.next()) {
    // Walking is the check.
  }
  if (cursor.isMalformed()) throw new WireError('bad-message', 'message ends inside a record');
  if (hasPointerChain(bytes)) throw new WireError('bad-message', 'message has a chain of pointers');
}

/** A copy whose header counts at most `maxAnswers` answers and no further records. */
function firstAnswers(bytes: Uint8Array, maxAnswers: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  writeUint16(copy, 6, Math.min(readUint16(copy, 6), maxAnswers));
  copy.fill(0, 8, HEADER_BYTES);
  return copy;
}

/** Treats every byte as the start of a name, because where rdata has names depends on its type. */
function hasPointerChain(bytes: Uint8Array): boolean {
  const chain = new Uint8Array(Math.min(bytes.length, MAX_POINTER_TARGETS));
  for (let at = HEADER_BYTES; at + 1 < chain.length; at++) {
    if (bytes[at]! < 0xc0) continue;
    const target = readUint16(bytes, at) & (MAX_POINTER_TARGETS - 1);
    if (target >= at) continue;
    chain[at] = chain[target]! + 1;
    if (chain[at]! > MAX_POINTER_CHAIN) return true;
  }
  return false;
}

function decodeChecked(bytes: Uint8Array): DecodedMessage {
  const decoded = decodePacket(bytes);
  return {
    id: decoded.id ?? 0,
    rcode: (decoded as { rcode?: string }).rcode ?? 'NOERROR',
    isTruncated: decoded.flag_tc,
    isAuthoritative: decoded.flag_aa,
    questions: decoded.questions ?? [],
    answers: decoded.answers ?? [],
    authorities: decoded.authorities ?? [],
    additionals: decoded.additionals ?? [],
  };
}

function decodePacket(bytes: Uint8Array): DecodedPacket {
  try {
    return packet.decode(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WireError('bad-message', `message cannot be decoded: ${reason}`, { cause });
  }
}
