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
  /** The UDP payload size of the OPT record; without it and without options there is no OPT record. */
  readonly ednsBytes?: number;
  readonly isDnssecOk?: boolean;
  readonly ednsVersion?: number;
  /** The options of the OPT record. */
  readonly options?: readonly OptionText[];
}

/** An EDNS option as `CODE HEX`. */
export type OptionText = string;

/** The answer of a server. Default: NOERROR without records, with RA and the query's RD and CD. */
export interface Response {
  readonly rcode?: Rcode | number;
  readonly isAuthoritative?: boolean;
  readonly isTruncated?: boolean;
  readonly isRecursionAvailable?: boolean;
  readonly answers?: readonly ReplyRecord[];
  readonly authorities?: readonly ReplyRecord[];
  readonly additionals?: readonly ReplyRecord[];
  /** The options of the OPT record. A query without EDNS gets no OPT record. */
  readonly options?: readonly OptionText[];
  /** The UDP payload size of the OPT record; default: 1,232. */
  readonly ednsBytes?: number | undefined;
  /** Whether a query with EDNS gets no OPT record either. */
  readonly hasNoOpt?: boolean;
  /** Whether owner names and the targets of CNAME records are compressed; other names never are. */
  readonly isCompressed?: boolean;
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
  /** `TYPE DATA` of each record of the answer section. */
  readonly texts: readonly string[];
  /** Their TTLs. */
  readonly ttls: readonly number[];
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
const OPT_FIXED_BYTES = 11;
/** Type, class, TTL and the length of the data. */
const RECORD_FIXED_BYTES = 10;
const OPTION_HEAD_BYTES = 4;
const POINTER = 0xc0;
const DO = 0x80;
const DEFAULT_ID = 0x1234;
const DEFAULT_EDNS_BYTES = 1_232;

/** The rcode of a message as text; a number for one outside `RCODES`. */
export function rcodeOf(message: Uint8Array): string {
  const code = (message[3] ?? 0) & RCODE_MASK;
  return RCODES[code] ?? String(code);
}

/** A query with one question. */
export function encodeQuery(question: Question): Buffer {
  const { name, type = 'A', id = DEFAULT_ID } = question;
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
  const hasOpt = question.ednsBytes !== undefined || question.options !== undefined;
  return hasOpt ? withRecord(query, optRecord(question)) : query;
}

/** The message with one more record behind it. */
export function withRecord(message: Uint8Array, record: Uint8Array): Buffer {
  const longer = Buffer.concat([message, record]);
  const count = longer.readUInt16BE(ADDITIONAL_COUNT_OFFSET);
  longer.writeUInt16BE(count + 1, ADDITIONAL_COUNT_OFFSET);
  return longer;
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

/** An OPT record (RFC 6891 section 6.1.2). */
export function optRecord({
  ednsBytes = DEFAULT_EDNS_BYTES,
  ednsVersion = 0,
  isDnssecOk = false,
  options = [],
}: Pick<Question, 'ednsBytes' | 'ednsVersion' | 'isDnssecOk' | 'options'> = {}): Buffer {
  const data = Buffer.concat(options.map(optionBytes));
  const opt = Buffer.alloc(OPT_FIXED_BYTES);
  opt.writeUInt16BE(OPT, 1);
  opt.writeUInt16BE(ednsBytes, 3);
  opt[6] = ednsVersion;
  if (isDnssecOk) opt[7] = DO;
  opt.writeUInt16BE(data.length, 9);
  return Buffer.concat([opt, data]);
}

function optionBytes(text: OptionText): Buffer {
  const [code = '', hex = ''] = text.split(' ');
  const data = Buffer.from(hex, 'hex');
  const head = Buffer.alloc(OPTION_HEAD_BYTES);
  head.writeUInt16BE(Number(code), 0);
  head.writeUInt16BE(data.length, 2);
  return Buffer.concat([head, data]);
}

/** What the OPT record of a message says. */
export interface Edns {
  readonly ednsBytes: number;
  readonly isDnssecOk: boolean;
  readonly options: readonly OptionText[];
  /** The rcode of the message with its upper bits, which are here (RFC 6891 section 6.1.3). */
  readonly rcode: number;
}

/** Reads the OPT record of a message; undefined without one, and where a record ends too early. */
export function ednsOf(message: Uint8Array): Edns | undefined {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
  try {
    const at = optOffset(bytes);
    if (at < 0) return undefined;
    const end = at + 10 + bytes.readUInt16BE(at + 8);
    const options = optionTexts(bytes.subarray(at + 10, end));
    const rcode = (bytes[at + 4]! << 4) | (bytes[3]! & RCODE_MASK);
    const isDnssecOk = (bytes[at + 6]! & DO) !== 0;
    return { ednsBytes: bytes.readUInt16BE(at + 2), isDnssecOk, options, rcode };
  } catch {
    // A record ends too early.
    return undefined;
  }
}

/** The options in the data of an OPT record. */
export function optionTexts(data: Uint8Array): OptionText[] {
  const bytes = Buffer.from(data);
  const options: OptionText[] = [];
  for (let at = 0; at + OPTION_HEAD_BYTES <= bytes.length;) {
    const end = at + OPTION_HEAD_BYTES + bytes.readUInt16BE(at + 2);
    options.push(`${bytes.readUInt16BE(at)} ${bytes.toString('hex', at + OPTION_HEAD_BYTES, end)}`);
    at = end;
  }
  return options;
}

/** Where the type of the OPT record is; -1 without one. */
function optOffset(message: Buffer): number {
  let at = HEADER_BYTES;
  const skipName = () => {
    while (message.readUInt8(at) > 0 && message[at]! < POINTER) at += message[at]! + 1;
    at += message[at] === 0 ? 1 : 2;
  };
  for (let i = message.readUInt16BE(QUESTION_COUNT_OFFSET); i > 0; i--) {
    skipName();
    at += TYPE_FROM_END;
  }
  const counts = [COUNTS_OFFSET, COUNTS_OFFSET + 2, ADDITIONAL_COUNT_OFFSET];
  for (let i = counts.reduce((sum, each) => sum + message.readUInt16BE(each), 0); i > 0; i--) {
    skipName();
    if (message.readUInt16BE(at) === OPT) return at;
    at += 10 + message.readUInt16BE(at + 8);
  }
  return -1;
}

/** The size and the options of a message's OPT record, as `SIZE | CODE HEX | …`; `none` without one. */
export function ednsText(message: Uint8Array): string {
  const edns = ednsOf(message);
  return edns === undefined ? 'none' : [edns.ednsBytes, ...edns.options].join(' | ');
}

/** A query that was read, as the programs have it. */
interface ReadQuery {
  readonly bytes: Uint8Array;
  readonly length: number;
}

/** The reply to a query, with its ID and the bytes of its question. */
export function encodeReply(query: Uint8Array | ReadQuery, response: Response = {}): Buffer {
  const message = 'bytes' in query ? query.bytes.subarray(0, query.length) : query;
  const { name } = questionOf(message);
  const { rcode = 'NOERROR', isAuthoritative = false, isTruncated = false } = response;
  const flags =
    FLAG.QR |
    (Buffer.from(message).readUInt16BE(2) & (FLAG.RD | FLAG.CD)) |
    (isAuthoritative ? FLAG.AA : 0) |
    (isTruncated ? FLAG.TC : 0) |
    (response.isRecursionAvailable === false ? 0 : FLAG.RA) |
    (typeof rcode === 'number' ? rcode : RCODES.indexOf(rcode));
  const { answers = [], authorities = [], additionals = [] } = response;
  const head = Buffer.from(message.subarray(0, questionEnd(message)));
  head.writeUInt16BE(flags, 2);
  const sections = [answers, authorities, additionals];
  sections.forEach((records, at) => head.writeUInt16BE(records.length, COUNTS_OFFSET + 2 * at));
  const names = response.isCompressed === true ? new CompressedNames(name) : undefined;
  let reply = head;
  for (const record of sections.flat()) {
    const owned = { name, ...record };
    const bytes = packet.encode({ answers: [owned] }).subarray(HEADER_BYTES);
    reply = Buffer.concat([reply, names?.record(owned, bytes, reply.length) ?? bytes]);
  }
  const edns = response.hasNoOpt === true ? undefined : ednsOf(message);
  if (edns === undefined) return reply;
  const { options = [], ednsBytes = DEFAULT_EDNS_BYTES } = response;
  return withRecord(reply, optRecord({ isDnssecOk: edns.isDnssecOk, ednsBytes, options }));
}

/** Compresses the names of a reply (RFC 1035 section 4.1.4): owner names, and the targets of CNAME records. */
class CompressedNames {
  /** The offsets of names in the message, by their text. */
  readonly #offsets = new Map<string, number>();

  /** The name of the question is at its place already. */
  constructor(question: string) {
    this.#bytes(question, HEADER_BYTES);
  }

  /** The bytes of a record at an offset of the message, of those without compression. */
  record(record: DnsRecord, bytes: Buffer, at: number): Buffer {
    const owner = this.#bytes(record.name, at);
    const rest = Buffer.from(bytes.subarray(nameBytes(record.name)));
    if (record.type !== 'CNAME') return Buffer.concat([owner, rest]);
    const fixed = rest.subarray(0, RECORD_FIXED_BYTES);
    const target = this.#bytes(record.data, at + owner.length + fixed.length);
    fixed.writeUInt16BE(target.length, fixed.length - 2);
    return Buffer.concat([owner, fixed, target]);
  }

  #bytes(name: string, at: number): Buffer {
    const labels = name === '.' ? [] : name.split('.').filter((label) => label !== '');
    const parts: Buffer[] = [];
    let length = 0;
    for (let i = 0; i < labels.length; i++) {
      const suffix = labels.slice(i).join('.');
      const known = this.#offsets.get(suffix);
      if (known !== undefined) {
        return Buffer.concat([...parts, Buffer.from([POINTER | (known >> 8), known & 0xff])]);
      }
      this.#offsets.set(suffix, at + length);
      const label = Buffer.from(labels[i]!);
      parts.push(Buffer.from([label.length]), label);
      length += 1 + label.length;
    }
    return Buffer.concat([...parts, Buffer.alloc(1)]);
  }
}

/** Of a name without compression; a byte more for the length of the first label, and one for the root. */
function nameBytes(name: string): number {
  return name === '' || name === '.' ? 1 : Buffer.byteLength(name) + 2;
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
    texts: decoded.answers.map((record) => `${record.type} ${dataText(record)}`),
    ttls: decoded.answers.map((record) => ('ttl' in record ? (record.ttl ?? 0) : 0)),
    bytes: message,
  };
}

function dataText(record: DnsRecord): string {
  const data: unknown = 'data' in record ? record.data : undefined;
  if (Array.isArray(data)) return data.map(String).join('|');
  return typeof data === 'string' ? data : JSON.stringify(data);
}

/** A records of the question's name. */
export function addressRecords(ttl: number, ...addresses: readonly string[]): ReplyRecord[] {
  return addresses.map((data) => ({ type: 'A', ttl, data }));
}

/** A CNAME record. */
export function cnameRecord(name: string, data: string, ttl: number): ReplyRecord {
  return { name, type: 'CNAME', ttl, data };
}

/** An SOA record whose negative answers are cached for `minimum` seconds, or for its TTL if that is less. */
export function soaRecord(minimum: number, name = 'example', ttl = 60): ReplyRecord {
  const times = { serial: 1, refresh: 2, retry: 3, expire: 4, minimum };
  return { name, type: 'SOA', ttl, data: { mname: 'ns.example', rname: 'root.example', ...times } };
}
