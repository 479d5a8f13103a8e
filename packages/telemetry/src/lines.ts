import type { QueryLogClass } from '@kube-dns/daemon';
import { type ServerAddress, serverText, SOURCE_NAMES } from '@kube-dns/transport';
import {
  EDNS_OPTION,
  FLAG,
  HEADER_BYTES,
  OPCODE_MASK,
  OPTION_HEAD_BYTES,
  type Query,
  RCODE,
  RCODE_MASK,
  RCODE_NAMES,
  readUint16,
  RecordCursor,
  SECTION,
  TYPE,
  typeName,
} from '@kube-dns/wire';
import type { ObservedAnswer } from './observed-answer.js';

const COLON = 0x3a;
const SPACE = 0x20;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const IPV4_BYTES = 4;
const TEXT_BEFORE_ID = ascii(' - ');
const TEXT_BEFORE_TYPE = ascii(' "');
const TEXT_AFTER_BUFFER_SIZE = ascii('" ');
const TEXT_UDP = ascii(' udp ');
const TEXT_TCP = ascii(' tcp ');
const TEXT_WITH_DNSSEC = ascii(' true ');
const TEXT_WITHOUT_DNSSEC = ascii(' false ');
const TEXT_NO_ANSWER = ascii('- - 0 ');
const TEXT_END = ascii('s\n');

/**
 * A line in CoreDNS's common format (plugin/log, CommonLogFormat), without the `[INFO] ` before it:
 * `192.0.2.1:40000 - 7 "A IN a.test. udp 24 false 512" NOERROR qr,rd,ra 40 0.000163s`.
 */
export function putTextLine(line: LineWriter, answer: ObservedAnswer, facts: AnswerFacts): void {
  const { query, message, length, addressBytes } = answer;
  if (addressBytes > IPV4_BYTES) line.putByte(OPEN_BRACKET);
  line.putAddress(answer.address, addressBytes);
  if (addressBytes > IPV4_BYTES) line.putByte(CLOSE_BRACKET);
  line.putByte(COLON);
  line.putNumber(answer.port);
  line.put(TEXT_BEFORE_ID);
  line.putNumber(query.id);
  line.put(TEXT_BEFORE_TYPE);
  putType(line, query.type);
  line.putByte(SPACE);
  putClass(line, query.class);
  line.putByte(SPACE);
  line.putName(query.name, query.nameLength, false);
  line.put(query.isOverTcp ? TEXT_TCP : TEXT_UDP);
  line.putNumber(query.length);
  line.put(query.isDnssecOk ? TEXT_WITH_DNSSEC : TEXT_WITHOUT_DNSSEC);
  line.putNumber(advertisedSize(query));
  line.put(TEXT_AFTER_BUFFER_SIZE);
  if (length === 0) line.put(TEXT_NO_ANSWER);
  else {
    putRcode(line, facts.rcode);
    line.putByte(SPACE);
    putFlags(line, readUint16(message, 2));
    line.putByte(SPACE);
    line.putNumber(length);
    line.putByte(SPACE);
  }
  line.putSeconds(answer.endedMs - answer.startedMs);
  line.put(TEXT_END);
}

const MS_PER_SECOND = 1_000;
const OPCODE_SHIFT = 11;
const COMMA = 0x2c;
const DIGITS = 0x30;
const QUOTE = 0x22;
const JSON_TIME = ascii('{"time":"');
const JSON_CLIENT = ascii('Z","level":"INFO","plugin":"log","client_ip":"');
const JSON_PORT = ascii('","client_port":');
const JSON_NAME = ascii(',"qname":"');
const JSON_TYPE = ascii('","qtype":"');
const JSON_CLASS = ascii('","qclass":"');
const JSON_UDP = ascii('","protocol":"udp","id":');
const JSON_TCP = ascii('","protocol":"tcp","id":');
const JSON_OPCODE = ascii(',"opcode":');
const JSON_REQUEST_SIZE = ascii(',"request_size":');
const JSON_WITH_DNSSEC = ascii(',"dnssec_ok":true,"bufsize":');
const JSON_WITHOUT_DNSSEC = ascii(',"dnssec_ok":false,"bufsize":');
const JSON_RCODE = ascii(',"rcode":"');
const JSON_NO_RCODE = ascii(',"rcode":null,"response_size":');
const JSON_RESPONSE_SIZE = ascii(',"response_size":');
const JSON_DURATION = ascii(',"duration_seconds":');
const JSON_SOURCE = ascii(',"source":"');
const JSON_SERVER = ascii(',"server":');
const JSON_ERRORS = ascii(',"ede":[');
const JSON_END = ascii(']}\n');
/** `2026-11-22T22:50:29.` */
const SECOND_CHARACTERS = 20;

/**
 * Writes an object per line, with the names of CoreDNS's `-log-format=json` for a query (plugin/log, logJSON), then
 * `source`, `server` where one replied, and `ede`, the codes of Extended DNS Errors.
 */
export class JsonLines {
  #second = -1;
  #secondText = ascii('');

  put(line: LineWriter, answer: ObservedAnswer, facts: AnswerFacts, epochMs: number): void {
    const { query, server, length } = answer;
    line.put(JSON_TIME);
    this.#putTime(line, epochMs);
    line.put(JSON_CLIENT);
    line.putAddress(answer.address, answer.addressBytes);
    line.put(JSON_PORT);
    line.putNumber(answer.port);
    line.put(JSON_NAME);
    line.putName(query.name, query.nameLength, true);
    line.put(JSON_TYPE);
    putType(line, query.type);
    line.put(JSON_CLASS);
    putClass(line, query.class);
    line.put(query.isOverTcp ? JSON_TCP : JSON_UDP);
    line.putNumber(query.id);
    line.put(JSON_OPCODE);
    line.putNumber((query.flags & OPCODE_MASK) >>> OPCODE_SHIFT);
    line.put(JSON_REQUEST_SIZE);
    line.putNumber(query.length);
    line.put(query.isDnssecOk ? JSON_WITH_DNSSEC : JSON_WITHOUT_DNSSEC);
    line.putNumber(advertisedSize(query));
    if (length === 0) line.put(JSON_NO_RCODE);
    else {
      line.put(JSON_RCODE);
      putRcode(line, facts.rcode);
      line.putByte(QUOTE);
      line.put(JSON_RESPONSE_SIZE);
    }
    line.putNumber(length);
    line.put(JSON_DURATION);
    line.putSeconds(answer.endedMs - answer.startedMs);
    line.put(JSON_SOURCE);
    line.put(SOURCE_WORDS[answer.source]!);
    line.putByte(QUOTE);
    if (server !== undefined) {
      line.put(JSON_SERVER);
      putServer(line, server);
    }
    line.put(JSON_ERRORS);
    for (let i = 0; i < facts.errorCount; i++) {
      if (i > 0) line.putByte(COMMA);
      line.putNumber(facts.errors[i]!);
    }
    line.put(JSON_END);
  }

  /** UTC in milliseconds (RFC 3339), without the Z. */
  #putTime(line: LineWriter, epochMs: number): void {
    const second = Math.floor(epochMs / MS_PER_SECOND);
    if (second !== this.#second) {
      this.#second = second;
      const text = new Date(second * MS_PER_SECOND).toISOString();
      this.#secondText = ascii(text.slice(0, SECOND_CHARACTERS));
    }
    const ms = epochMs - second * MS_PER_SECOND;
    line.put(this.#secondText);
    line.putByte(DIGITS + Math.floor(ms / 100));
    line.putByte(DIGITS + (Math.floor(ms / 10) % 10));
    line.putByte(DIGITS + (ms % 10));
  }
}

/** More are not shown. */
const MAX_EXTENDED_ERRORS = 4;

/** What a line says of an answer that is not in its header. One is used for all answers. */
export class AnswerFacts {
  rcode = 0;
  /** The first `errorCount` are the Extended DNS Errors (RFC 8914). */
  readonly errors = new Uint16Array(MAX_EXTENDED_ERRORS);
  errorCount = 0;
  readonly #cursor = new RecordCursor();

  /** Reads an answer, whose OPT record has the upper bits of the rcode. */
  read(message: Uint8Array, length: number): void {
    this.rcode = readUint16(message, 2) & RCODE_MASK;
    this.errorCount = 0;
    if (readUint16(message, 10) === 0) return;
    const cursor = this.#cursor.reset(message, length);
    while (cursor.next()) {
      if (cursor.section !== SECTION.ADDITIONAL || cursor.type !== TYPE.OPT) continue;
      this.rcode |= message[cursor.ttlAt]! << 4;
      this.#readErrors(message, cursor.rdataStart, cursor.end);
      return;
    }
  }

  #readErrors(message: Uint8Array, start: number, end: number): void {
    for (let at = start; at + OPTION_HEAD_BYTES <= end;) {
      const next = at + OPTION_HEAD_BYTES + readUint16(message, at + 2);
      const isError = readUint16(message, at) === EDNS_OPTION.EXTENDED_ERROR;
      if (next > end || this.errorCount === MAX_EXTENDED_ERRORS) return;
      if (isError && next >= at + OPTION_HEAD_BYTES + 2) {
        this.errors[this.errorCount++] = readUint16(message, at + OPTION_HEAD_BYTES);
      }
      at = next;
    }
  }
}

/** The class of an answer, as CoreDNS's plugin log has them; no answer at all is an error. */
export function classOf(message: Uint8Array, length: number): QueryLogClass {
  if (length === 0) return 'error';
  const flags = readUint16(message, 2);
  const rcode = flags & RCODE_MASK;
  if (rcode === RCODE.NXDOMAIN) return 'denial';
  if (rcode !== RCODE.NOERROR) return 'error';
  // A truncated answer may have none of its records.
  const hasAnswer = readUint16(message, 6) > 0 || (flags & FLAG.TC) !== 0;
  return hasAnswer ? 'success' : 'denial';
}

const CLASSIC_UDP_BYTES = 512;
const MAX_TCP_BYTES = 65_535;
const cursor = new RecordCursor();

/** What CoreDNS calls the buffer size of a query: what its OPT record asks for, 512 at least; over TCP all of a message. */
function advertisedSize({ bytes, length, isOverTcp, hasEdns, questionEnd }: Query): number {
  if (isOverTcp) return MAX_TCP_BYTES;
  if (!hasEdns) return CLASSIC_UDP_BYTES;
  // Nearly always it follows the question: a root name, and the type.
  const isNext = readUint16(bytes, questionEnd + 1) === TYPE.OPT && bytes[questionEnd] === 0;
  if (isNext && questionEnd > HEADER_BYTES) {
    return Math.max(CLASSIC_UDP_BYTES, readUint16(bytes, questionEnd + 3));
  }
  cursor.reset(bytes, length);
  while (cursor.next()) {
    if (cursor.section === SECTION.ADDITIONAL && cursor.type === TYPE.OPT) {
      return Math.max(CLASSIC_UDP_BYTES, cursor.class);
    }
  }
  return CLASSIC_UDP_BYTES;
}

/** The rest of the names of rcodes, as miekg/dns writes them for CoreDNS. */
const LATER_RCODES: Readonly<Record<number, string>> = {
  6: 'YXDOMAIN',
  7: 'YXRRSET',
  8: 'NXRRSET',
  9: 'NOTAUTH',
  10: 'NOTZONE',
  11: 'DSOTYPENI',
  16: 'BADVERS',
  17: 'BADKEY',
  18: 'BADTIME',
  19: 'BADMODE',
  20: 'BADNAME',
  21: 'BADALG',
  22: 'BADTRUNC',
  23: 'BADCOOKIE',
};
/** The types whose names miekg/dns writes in another way than the registry has them. */
const OTHER_TYPES: Readonly<Record<number, string>> = {
  0: 'None',
  11: 'TYPE11',
  22: 'TYPE22',
  38: 'TYPE38',
  40: 'TYPE40',
  128: 'NXNAME',
  259: 'TYPE259',
  261: 'RESINFO',
  65_535: 'Reserved',
};
/** Types with a number above this one have none, but for a few. */
const LAST_NAMED_TYPE = 300;
const NUMBERED_TYPES = [32_768, 32_769, 65_535];
const TYPE_PREFIX = ascii('TYPE');
const CLASS_PREFIX = ascii('CLASS');
/** Without 255: a name that is one of a type, too, is not written (miekg/dns, Class.String). */
const CLASS_WORDS: ReadonlyMap<number, Uint8Array> = new Map(
  Object.entries({ 1: 'IN', 2: 'CS', 3: 'CH', 4: 'HS', 254: 'NONE' }).map(([value, name]) => [
    Number(value),
    ascii(name),
  ]),
);
const FLAG_WORDS = (
  [
    [FLAG.QR, 'qr,'],
    [FLAG.AA, 'aa,'],
    [FLAG.TC, 'tc,'],
    [FLAG.RD, 'rd,'],
    [FLAG.RA, 'ra,'],
    [0x0040, 'z,'],
    [FLAG.AD, 'ad,'],
    [FLAG.CD, 'cd,'],
  ] as const
).map(([bit, name]) => ({ bit, name: ascii(name) }));
const MAX_SERVER_CHARACTERS = 100;

/** The sources' names, by AnswerSource. */
const SOURCE_WORDS: readonly Uint8Array[] = SOURCE_NAMES.map(ascii);

const RCODE_WORDS = new Map<number, Uint8Array>();
for (const [rcode, name] of RCODE_NAMES.entries()) RCODE_WORDS.set(rcode, ascii(name));
for (const [rcode, name] of Object.entries(LATER_RCODES))
  RCODE_WORDS.set(Number(rcode), ascii(name));

const TYPE_WORDS = new Map<number, Uint8Array>();
for (const type of [...Array(LAST_NAMED_TYPE).keys(), ...NUMBERED_TYPES]) {
  const name = OTHER_TYPES[type] ?? typeName(type);
  if (name !== undefined) TYPE_WORDS.set(type, ascii(name));
}

/** A number without a name is written as one. */
function putRcode(line: LineWriter, rcode: number): void {
  const name = RCODE_WORDS.get(rcode);
  if (name === undefined) line.putNumber(rcode);
  else line.put(name);
}

function putType(line: LineWriter, type: number): void {
  putNamed(line, type, TYPE_WORDS, TYPE_PREFIX);
}

function putClass(line: LineWriter, value: number): void {
  putNamed(line, value, CLASS_WORDS, CLASS_PREFIX);
}

/** The flags of an answer in CoreDNS's order, such as `qr,aa,rd`; an answer has one at least. */
function putFlags(line: LineWriter, flags: number): void {
  const start = line.at;
  for (const { bit, name } of FLAG_WORDS) if ((flags & bit) !== 0) line.put(name);
  if (line.at > start) line.at--;
}

const serverTexts = new WeakMap<ServerAddress, Uint8Array>();

/** The text of a server as JSON, with its quotes; it is made once. */
function putServer(line: LineWriter, server: ServerAddress): void {
  let text = serverTexts.get(server);
  if (text === undefined) {
    const shown = serverText(server).slice(0, MAX_SERVER_CHARACTERS);
    text = Buffer.from(JSON.stringify(shown));
    serverTexts.set(server, text);
  }
  line.put(text);
}

function putNamed(
  line: LineWriter,
  value: number,
  names: ReadonlyMap<number, Uint8Array>,
  prefix: Uint8Array,
): void {
  const name = names.get(value);
  if (name !== undefined) {
    line.put(name);
    return;
  }
  line.put(prefix);
  line.putNumber(value);
}

const DOT = 0x2e;
const LOWER_A = 0x61;
const BACKSLASH = 0x5c;
const IPV6_GROUPS = 8;
const FRACTION_DIGITS = 9;
const NS_PER_SECOND = 1_000_000_000;
const NS_PER_MS = 1_000_000;

/** The bytes of a text of ASCII, to be written many times. */
function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Which bytes of a name get a backslash in presentation form, as miekg/dns writes it for CoreDNS. */
const ESCAPED = new Uint8Array(256);
for (const byte of ascii('. \'@;()"\\')) ESCAPED[byte] = 1;

/** Writes pieces of a line as bytes, one after the other; it makes no strings. The room is the caller's to know. */
export class LineWriter {
  bytes = new Uint8Array(0);
  at = 0;

  start(bytes: Uint8Array, at: number): void {
    this.bytes = bytes as Uint8Array<ArrayBuffer>;
    this.at = at;
  }

  put(piece: Uint8Array): void {
    const { bytes, at } = this;
    for (let i = 0; i < piece.length; i++) bytes[at + i] = piece[i]!;
    this.at = at + piece.length;
  }

  putByte(byte: number): void {
    this.bytes[this.at++] = byte;
  }

  /** A whole number that is not negative, below 2^31. */
  putNumber(value: number): void {
    let digits = 1;
    for (let power = 10; value >= power; power *= 10) digits++;
    this.#putDigits(value, digits);
  }

  /** Milliseconds as seconds, to the nanosecond, without zeros at the end: `0.000163406`. */
  putSeconds(ms: number): void {
    const ns = Math.max(0, Math.round(ms * NS_PER_MS));
    const seconds = Math.floor(ns / NS_PER_SECOND);
    let fraction = ns - seconds * NS_PER_SECOND;
    this.putNumber(seconds);
    if (fraction === 0) return;
    let digits = FRACTION_DIGITS;
    for (; fraction % 10 === 0; fraction /= 10) digits--;
    this.putByte(DOT);
    this.#putDigits(fraction, digits);
  }

  /** The first `count` bytes of an address, 4 or 16, in its shortest form (RFC 5952). */
  putAddress(address: Uint8Array, count: number): void {
    if (count === IPV4_BYTES) {
      for (let i = 0; i < IPV4_BYTES; i++) {
        if (i > 0) this.putByte(DOT);
        this.putNumber(address[i]!);
      }
    } else if (count > IPV4_BYTES) this.#putIpv6(address);
  }

  /**
   * The first `length` bytes of a name in wire form, with a dot at its end and escapes as miekg/dns has them. In JSON each
   * backslash is one more.
   */
  putName(name: Uint8Array, length: number, isJson: boolean): void {
    const { bytes } = this;
    let { at } = this;
    if (length <= 1) bytes[at++] = DOT;
    for (let label = 0; label < length - 1; label += name[label]! + 1) {
      const end = label + name[label]! + 1;
      for (let i = label + 1; i < end; i++) {
        const byte = name[i]!;
        const isPrintable = byte >= 0x20 && byte <= 0x7e;
        if (isPrintable && ESCAPED[byte] === 0) {
          bytes[at++] = byte;
          continue;
        }
        bytes[at++] = BACKSLASH;
        if (isJson) bytes[at++] = BACKSLASH;
        if (isPrintable) {
          if (isJson && (byte === QUOTE || byte === BACKSLASH)) bytes[at++] = BACKSLASH;
          bytes[at++] = byte;
          continue;
        }
        bytes[at++] = DIGITS + Math.floor(byte / 100);
        bytes[at++] = DIGITS + (Math.floor(byte / 10) % 10);
        bytes[at++] = DIGITS + (byte % 10);
      }
      bytes[at++] = DOT;
    }
    this.at = at;
  }

  #putDigits(value: number, digits: number): void {
    const { bytes } = this;
    let rest = value;
    for (let at = this.at + digits - 1; at >= this.at; at--) {
      const next = Math.floor(rest / 10);
      bytes[at] = DIGITS + rest - next * 10;
      rest = next;
    }
    this.at += digits;
  }

  #putIpv6(address: Uint8Array): void {
    let zerosAt = -1;
    let zeros = 1;
    for (let i = 0; i < IPV6_GROUPS; i++) {
      let end = i;
      while (end < IPV6_GROUPS && groupAt(address, end) === 0) end++;
      if (end - i > zeros) {
        zerosAt = i;
        zeros = end - i;
      }
      i = end;
    }
    for (let i = 0; i < IPV6_GROUPS; i++) {
      if (i === zerosAt) {
        this.putByte(COLON);
        this.putByte(COLON);
        i += zeros - 1;
        continue;
      }
      if (i > 0 && i !== zerosAt + zeros) this.putByte(COLON);
      this.#putHex(groupAt(address, i));
    }
  }

  #putHex(value: number): void {
    let shift = 12;
    while (shift > 0 && value >>> shift === 0) shift -= 4;
    for (; shift >= 0; shift -= 4) {
      const digit = (value >>> shift) & 0xf;
      this.putByte(digit < 10 ? DIGITS + digit : LOWER_A + digit - 10);
    }
  }
}

function groupAt(address: Uint8Array, group: number): number {
  return (address[group * 2]! << 8) | address[group * 2 + 1]!;
}
