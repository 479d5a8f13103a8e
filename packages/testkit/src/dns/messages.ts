import packet from 'dns-packet';
import type { Answer, Packet, RecordClass, RecordType } from 'dns-packet';

/** A record of dns-packet: names without trailing dot, TXT data as Buffers. */
export type DnsRecord = Answer;

type Unowned<T> = T extends { readonly name: string } ? Omit<T, 'name'> : never;

/** A record of a reply; the default owner name is the name of the question. */
export type ReplyRecord = Unowned<Exclude<DnsRecord, { type: 'OPT' }>> & { readonly name?: string };

/** The question of a client; every field except the name has a default. */
export interface Question {
  readonly name: string;
  /** Default: `A`; a number for a type without a name. */
  readonly type?: string | number;
  readonly class?: 'IN' | 'CH' | number;
  readonly id?: number;
  /** RD; default: true. */
  readonly isRecursionDesired?: boolean;
  readonly isCheckingDisabled?: boolean;
  /** The UDP payload size of the OPT record; undefined: no OPT record. */
  readonly ednsBytes?: number;
  readonly isDnssecOk?: boolean;
  /** A client's cookie (RFC 7873) in the OPT record. */
  readonly cookie?: Uint8Array;
}

/** The answer of a server. Default: NOERROR without records, with RA and the query's RD. */
export interface Response {
  readonly rcode?: Rcode;
  readonly isAuthoritative?: boolean;
  readonly isTruncated?: boolean;
  readonly isRecursionAvailable?: boolean;
  readonly answers?: readonly ReplyRecord[];
  readonly authorities?: readonly ReplyRecord[];
  readonly additionals?: readonly ReplyRecord[];
}

/** A question of a message; its name is in the original case, without trailing dot. */
export interface AskedQuestion {
  readonly name: string;
  readonly type: string;
  readonly class: string;
}

/** A decoded message. */
export interface Message {
  readonly id: number;
  /** The second pair of bytes: QR, opcode, flags and rcode. */
  readonly flags: number;
  readonly rcode: string;
  readonly isTruncated: boolean;
  readonly isAuthoritative: boolean;
  readonly questions: readonly AskedQuestion[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
  readonly bytes: Buffer;
}

/** Response codes by number (RFC 1035 section 4.1.1). */
export const RCODES = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'] as const;
export type Rcode = (typeof RCODES)[number];

const FLAG = { QR: 0x8000, AA: 0x0400, TC: 0x0200, RD: 0x0100, RA: 0x0080, CD: 0x0010 } as const;
const RCODE_MASK = 0x0f;
const HEADER_BYTES = 12;
const TYPE_FROM_END = 4;
const CLASS_FROM_END = 2;
const QUESTION_COUNT_OFFSET = 4;
const COUNTS_OFFSET = 6;
const ADDITIONAL_COUNT_OFFSET = 10;
const OPT = 41;
const OPT_BYTES = 11;
const COOKIE = 10;
const OPTION_HEAD_BYTES = 4;
const DO = 0x80;
const DEFAULT_ID = 0x1234;

/** The rcode of a message as text; a number for one outside `RCODES`. */
export function rcodeOf(message: Uint8Array): string {
  const code = (message[3] ?? 0) & RCODE_MASK;
  return RCODES[code] ?? String(code);
}

/** A query with one question. */
export function encodeQuery(question: Question): Buffer {
  const { name, type = 'A', id = DEFAULT_ID, ednsBytes } = question;
  const { isRecursionDesired = true, isCheckingDisabled = false } = question;
  const query = packet.encode({
    type: 'query',
    id,
    flags: (isRecursionDesired ? FLAG.RD : 0) | (isCheckingDisabled ? FLAG.CD : 0),
    questions: [{ name, type: 'A', class: 'IN' }],
  });
  const number = typeof type === 'number' ? type : typeNumber(type);
  query.writeUInt16BE(number, query.length - TYPE_FROM_END);
  query.writeUInt16BE(classNumber(question.class ?? 'IN'), query.length - CLASS_FROM_END);
  if (ednsBytes === undefined) return query;
  query.writeUInt16BE(1, ADDITIONAL_COUNT_OFFSET);
  return Buffer.concat([query, optRecord(ednsBytes, question)]);
}

const typeNumbers = new Map<string, number>();

/** Reads the number from an encoded question: dns-packet does not export its table of types. */
function typeNumber(type: string): number {
  const cached = typeNumbers.get(type);
  if (cached !== undefined) return cached;
  const questions = [{ name: '.', type: type as RecordType }];
  const number = packet.encode({ questions }).readUInt16BE(HEADER_BYTES + 1);
  if (number === 0) throw new Error(`unknown record type ${type}`);
  typeNumbers.set(type, number);
  return number;
}

function classNumber(name: 'IN' | 'CH' | number): number {
  if (typeof name === 'number') return name;
  return { IN: 1, CH: 3 }[name];
}

function optRecord(ednsBytes: number, { isDnssecOk = false, cookie }: Question): Buffer {
  const option = Buffer.alloc(cookie === undefined ? 0 : OPTION_HEAD_BYTES + cookie.length);
  if (cookie !== undefined) {
    option.writeUInt16BE(COOKIE, 0);
    option.writeUInt16BE(cookie.length, 2);
    option.set(cookie, OPTION_HEAD_BYTES);
  }
  const opt = Buffer.alloc(OPT_BYTES);
  opt.writeUInt16BE(OPT, 1);
  opt.writeUInt16BE(ednsBytes, 3);
  if (isDnssecOk) opt[7] = DO;
  opt.writeUInt16BE(option.length, 9);
  return Buffer.concat([opt, option]);
}

/** The reply to a query, with its ID and the bytes of its question. Names are not compressed. */
export function encodeReply(query: Uint8Array, response: Response = {}): Buffer {
  const { name } = questionOf(query);
  const end = questionEnd(query);
  const { rcode = 'NOERROR', isAuthoritative = false, isTruncated = false } = response;
  const flags =
    FLAG.QR |
    (Buffer.from(query).readUInt16BE(2) & FLAG.RD) |
    (isAuthoritative ? FLAG.AA : 0) |
    (isTruncated ? FLAG.TC : 0) |
    (response.isRecursionAvailable === false ? 0 : FLAG.RA) |
    RCODES.indexOf(rcode);
  const owned = (records: readonly ReplyRecord[] = []) =>
    records.map((record) => ({ name, ...record }));
  const body = packet.encode({
    answers: owned(response.answers),
    authorities: owned(response.authorities),
    additionals: owned(response.additionals),
  });
  const head = Buffer.from(query.subarray(0, end));
  body.copy(head, COUNTS_OFFSET, COUNTS_OFFSET, HEADER_BYTES);
  head.writeUInt16BE(flags, 2);
  return Buffer.concat([head, body.subarray(HEADER_BYTES)]);
}

/** The offset after the first question of a message; -1 without a question. */
export function questionEnd(message: Uint8Array): number {
  let at = HEADER_BYTES;
  while (at < message.length && message[at] !== 0) at += message[at]! + 1;
  const end = at + 1 + TYPE_FROM_END;
  return end > message.length ? -1 : end;
}

/** The first question of a message; throws for a message without a question. The rest is not read. */
export function questionOf(message: Uint8Array): AskedQuestion {
  const end = questionEnd(message);
  if (end < 0) throw new Error('the message has no question');
  const head = Buffer.from(message.subarray(0, end));
  head.fill(0, COUNTS_OFFSET, HEADER_BYTES);
  head.writeUInt16BE(1, QUESTION_COUNT_OFFSET);
  return decodeMessage(head).questions[0]!;
}

/** A decoded packet has every field; the type of dns-packet makes them optional. */
type WholePacket = { readonly [K in keyof Packet]-?: NonNullable<Packet[K]> };

/** Decodes a message with dns-packet; throws for a malformed message. */
export function decodeMessage(bytes: Uint8Array): Message {
  const message = Buffer.from(bytes);
  const decoded = packet.decode(message) as WholePacket;
  const flags = message.readUInt16BE(2);
  return {
    id: decoded.id,
    flags,
    rcode: rcodeOf(message),
    isTruncated: (flags & FLAG.TC) !== 0,
    isAuthoritative: (flags & FLAG.AA) !== 0,
    questions: decoded.questions.map(({ name, type, class: ofClass }) => ({
      name,
      type,
      class: (ofClass ?? 'IN') satisfies RecordClass,
    })),
    answers: decoded.answers,
    authorities: decoded.authorities,
    additionals: decoded.additionals,
    bytes: message,
  };
}

/** A records of the question's name. */
export function addressRecords(ttl: number, ...addresses: readonly string[]): ReplyRecord[] {
  return addresses.map((data) => ({ type: 'A', ttl, data }));
}
