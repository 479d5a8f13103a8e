import { randomBytes, randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { questionEnd } from '@kube-dns/testkit';
import {
  encodeName,
  encodeQuery,
  HEADER_BYTES,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';

/** The address in all forged answers, and in no other. */
const FORGED_ADDRESS = [203, 0, 113, 66];
const REPLY_FLAGS = 0x8580;
const TTL_SECONDS = 86_400;

/** A socket from which replies are forged. */
export async function boundSocket(port: number, host: string): Promise<Socket> {
  const socket = createSocket({
    type: 'udp4',
    // All hosts are addresses: without this each datagram waits for the next tick.
    lookup: (address, _, callback) => callback(null, address, 4),
  });
  socket.on('error', () => undefined);
  const listening = once(socket, 'listening');
  socket.bind(port, host);
  await listening;
  return socket;
}

/** The reply to a query that would be accepted. */
export function forgedReply(query: Uint8Array): Buffer {
  const fixed = Buffer.alloc(12);
  writeUint16(fixed, 0, 0xc000 | HEADER_BYTES);
  writeUint16(fixed, 2, TYPE.A);
  writeUint16(fixed, 4, 1);
  writeUint32(fixed, 6, TTL_SECONDS);
  writeUint16(fixed, 10, FORGED_ADDRESS.length);
  const question = query.subarray(0, questionEnd(query));
  const message = Buffer.concat([question, fixed, Buffer.from(FORGED_ADDRESS)]);
  writeUint16(message, 2, REPLY_FLAGS);
  message.fill(0, 6, HEADER_BYTES);
  writeUint16(message, 6, 1);
  return message;
}

/** Whether an answer has what was forged. */
export function isForged(answer: Buffer): boolean {
  return answer.includes(Buffer.from(FORGED_ADDRESS));
}

/** A query to be sent many times, each time with another ID. */
export interface QueryTemplate {
  readonly message: Uint8Array;
  /** Offset of a label of `RANDOM_LABEL_BYTES` that is random each time. */
  readonly labelAt?: number;
}

export const RANDOM_LABEL_BYTES = 16;

const PLACEHOLDER = 'x'.repeat(RANDOM_LABEL_BYTES);
const FIRST_LABEL_AT = HEADER_BYTES + 1;
const ADDITIONAL_COUNT_OFFSET = 10;
const OPT_FIXED_BYTES = 11;
const OPTION_FIXED_BYTES = 4;
/** RFC 7830. */
const PADDING_OPTION = 12;
const MAX_UINT16 = 0xffff;
/** QTYPE of RFC 1035 section 3.2.3. */
const ANY = 255;

/** A for a name below a domain that no client has asked for before. */
export function randomNameQuery(domain: string): QueryTemplate {
  const message = encodeQuery({ id: 0, name: `${PLACEHOLDER}.${domain}`, type: 'A' });
  return { message, labelAt: FIRST_LABEL_AT };
}

export function addressQuery(name: string): QueryTemplate {
  return { message: encodeQuery({ id: 0, name, type: 'A' }) };
}

/** ANY, for as large an answer as there is. */
export function anyQuery(name: string): QueryTemplate {
  const message = encodeQuery({ id: 0, name, type: 'A' });
  const nameEnd = HEADER_BYTES + encodeName(name).length;
  writeUint16(message, nameEnd, ANY);
  return { message: withPadding(message, 0) };
}

/** The query with an OPT record that takes answers of any size, and padding up to this many bytes. */
export function paddedQuery({ message, ...rest }: QueryTemplate, bytes: number): QueryTemplate {
  const options = bytes - message.length - OPT_FIXED_BYTES;
  return { ...rest, message: withPadding(message, Math.max(0, options)) };
}

function withPadding(message: Uint8Array, optionBytes: number): Buffer {
  const opt = Buffer.alloc(OPT_FIXED_BYTES + optionBytes);
  writeUint16(opt, 1, TYPE.OPT);
  writeUint16(opt, 3, MAX_UINT16);
  writeUint16(opt, 9, optionBytes);
  if (optionBytes >= OPTION_FIXED_BYTES) {
    writeUint16(opt, OPT_FIXED_BYTES, PADDING_OPTION);
    writeUint16(opt, OPT_FIXED_BYTES + 2, optionBytes - OPTION_FIXED_BYTES);
  }
  const whole = Buffer.concat([message, opt]);
  writeUint16(whole, ADDITIONAL_COUNT_OFFSET, 1);
  return whole;
}

const POINTER = 0xc000;
const COUNTS = { question: 4, answer: 6, additional: 10 } as const;
/** QR, RD and RA. */
const BOMB_FLAGS = 0x8180;
const TRUNCATED = 0x0200;
const MAX_DATAGRAM_BYTES = 4_096;
/** Where pointers can point to. */
const POINTER_REACH = 0x3fff;

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  writeUint16(bytes, 0, value);
  return bytes;
}

function pointer(offset: number): Buffer {
  return uint16(POINTER | offset);
}

/** A record with the bytes of its owner name. */
function record(owner: Buffer, type: number, rdata: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  writeUint16(fixed, 0, type);
  writeUint16(fixed, 2, 1);
  writeUint32(fixed, 4, 3_600);
  writeUint16(fixed, 8, rdata.length);
  return Buffer.concat([owner, fixed, rdata]);
}

/** Pointers in a row, each to the one before and the first to a name at `target`. */
function chain(at: number, target: number, length: number): Buffer {
  const links = Array.from({ length }, (_, i) => pointer(i === 0 ? target : at + 2 * (i - 1)));
  return Buffer.concat(links);
}

/** Labels of 63 bytes, each before all earlier ones: a name that grows beyond the maximum length. */
function growing(at: number, target: number, count: number): Buffer {
  const label = Buffer.alloc(64, 'a');
  label[0] = 63;
  const parts = Array.from({ length: count }, (_, i) =>
    Buffer.concat([label, pointer(i === 0 ? target : at + 66 * (i - 1))]),
  );
  return Buffer.concat(parts);
}

function counted(message: Buffer, section: keyof typeof COUNTS, count: number): Buffer {
  writeUint16(message, COUNTS[section], count);
  return message;
}

const ADDRESS = Buffer.from([198, 51, 100, 9]);

/** Small queries that cost a parser much work if it follows their pointers or trusts their counts. */
export function bombQueries(name: string): readonly QueryTemplate[] {
  const plain = () => encodeQuery({ id: 0, name, type: 'A' });
  const questionEnd = plain().length;
  const header = plain().subarray(0, HEADER_BYTES);
  const question = (owner: Buffer) => Buffer.concat([header, owner, uint16(TYPE.A), uint16(1)]);
  const chainBytes = MAX_DATAGRAM_BYTES - questionEnd - 64;
  const chained = chain(questionEnd + 11, HEADER_BYTES, Math.floor(chainBytes / 2));
  const lastLink = questionEnd + 11 + chained.length - 2;
  const messages = [
    question(pointer(HEADER_BYTES)),
    question(pointer(HEADER_BYTES + 2)),
    question(Buffer.concat([growing(HEADER_BYTES, HEADER_BYTES, 5)])),
    counted(plain(), 'question', MAX_UINT16),
    counted(plain(), 'additional', MAX_UINT16),
    counted(
      Buffer.concat([plain(), record(pointer(questionEnd), TYPE.A, ADDRESS)]),
      'additional',
      1,
    ),
    counted(
      Buffer.concat([
        plain(),
        record(Buffer.of(0), TYPE.TXT, chained),
        record(pointer(lastLink), TYPE.A, ADDRESS),
      ]),
      'additional',
      2,
    ),
  ];
  return messages.map((message) => ({ message }));
}

function reply(query: Buffer, questionEnd: number): Buffer {
  const head = Buffer.from(query.subarray(0, questionEnd));
  writeUint16(head, 2, BOMB_FLAGS);
  head.fill(0, COUNTS.answer, HEADER_BYTES);
  return head;
}

/** As many copies of a record as fit, and their number. */
function filled(head: Buffer, one: Buffer, maxBytes: number): Buffer {
  const count = Math.floor((maxBytes - head.length) / one.length);
  const records = Array.from({ length: count }, () => one);
  return counted(Buffer.concat([head, ...records]), 'answer', count);
}

type Bomb = (head: Buffer, maxBytes: number) => Buffer;

/** Each answers a question with a message that is small on the wire and large once it is decoded. */
const REPLIES: readonly Bomb[] = [
  // An owner name that points to itself, and one that points to bytes after it.
  (head) =>
    counted(Buffer.concat([head, record(pointer(head.length), TYPE.A, ADDRESS)]), 'answer', 1),
  (head) =>
    counted(Buffer.concat([head, record(pointer(head.length + 2), TYPE.A, ADDRESS)]), 'answer', 1),
  // Counts without records.
  (head) => counted(Buffer.from(head), 'answer', MAX_UINT16),
  // A chain of pointers in the data of one record, and as many owner names to its end as fit.
  (head, maxBytes) => {
    const at = head.length + 11;
    const freeBytes = Math.min(maxBytes / 2, POINTER_REACH - at);
    const links = chain(at, HEADER_BYTES, Math.floor(freeBytes / 2) - 1);
    const first = record(Buffer.of(0), TYPE.TXT, links);
    const one = record(pointer(at + links.length - 2), TYPE.A, ADDRESS);
    const count = Math.floor((maxBytes - head.length - first.length) / one.length);
    const owners = Array.from({ length: count }, () => one);
    return counted(Buffer.concat([head, first, ...owners]), 'answer', count + 1);
  },
  // CNAMEs whose targets are the longest possible name, two bytes each.
  (head, maxBytes) => {
    const labels = Buffer.from(
      encodeName(Array.from({ length: 3 }, () => 'b'.repeat(61)).join('.')),
    );
    const at = head.length + 12;
    const first = record(pointer(HEADER_BYTES), TYPE.CNAME, labels);
    const one = record(pointer(at), TYPE.CNAME, pointer(at));
    const count = Math.floor((maxBytes - head.length - first.length) / one.length);
    const cnames = Array.from({ length: count }, () => one);
    return counted(Buffer.concat([head, first, ...cnames]), 'answer', count + 1);
  },
  // A name that grows with each pointer.
  (head) => {
    const labels = growing(head.length + 11, HEADER_BYTES, 12);
    const first = record(Buffer.of(0), TYPE.TXT, labels);
    const one = record(pointer(head.length + 11 + 66 * 11), TYPE.A, ADDRESS);
    return counted(Buffer.concat([head, first, one]), 'answer', 2);
  },
  // Data that extends beyond the end.
  (head) => {
    const one = record(pointer(HEADER_BYTES), TYPE.A, ADDRESS);
    writeUint16(one, 10, MAX_UINT16);
    return counted(Buffer.concat([head, one]), 'answer', 1);
  },
  // As many records as a message can have, all of the right name.
  (head, maxBytes) => filled(head, record(pointer(HEADER_BYTES), TYPE.A, ADDRESS), maxBytes),
];

export const BOMB_REPLIES = REPLIES.length;

/** The n-th answer to a query whose question ends there, no larger than that. */
export function bombReply(query: Buffer, questionEnd: number, n: number, maxBytes: number): Buffer {
  return REPLIES[n % REPLIES.length]!(reply(query, questionEnd), maxBytes);
}

/** The answer that makes the client repeat its query over TCP. */
export function truncatedReply(query: Buffer, questionEnd: number): Buffer {
  const message = reply(query, questionEnd);
  writeUint16(message, 2, BOMB_FLAGS | TRUNCATED);
  return message;
}

/** NSID, ECS, cookie, keepalive, padding, key tag, and one that no program knows. */
const OPTION_CODES = [3, 8, 10, 11, 12, 14, 65_001] as const;
const MAX_OPTIONS = 4;
const MAX_OPTION_BYTES = 24;
const FLAG_RD = 0x0100;
const FLAG_CD = 0x0010;
const FLAG_DO = 0x8000;

function coin(): boolean {
  return randomInt(2) === 0;
}

function options(): Buffer {
  const all = Array.from({ length: randomInt(MAX_OPTIONS + 1) }, () => {
    const option = Buffer.alloc(4 + randomInt(MAX_OPTION_BYTES));
    writeUint16(option, 0, OPTION_CODES[randomInt(OPTION_CODES.length)]!);
    writeUint16(option, 2, option.length - 4);
    option.set(randomBytes(option.length - 4), 4);
    return option;
  });
  return Buffer.concat(all);
}

function optRecord(): Buffer {
  const data = options();
  const fixed = Buffer.alloc(11);
  writeUint16(fixed, 1, TYPE.OPT);
  writeUint16(fixed, 3, randomInt(MAX_UINT16));
  writeUint16(fixed, 7, coin() ? FLAG_DO : 0);
  writeUint16(fixed, 9, data.length);
  return Buffer.concat([fixed, data]);
}

/** A TXT record of the root, with one string. */
function extraRecord(): Buffer {
  const text = randomBytes(8);
  const fixed = Buffer.alloc(12);
  writeUint16(fixed, 1, TYPE.TXT);
  writeUint16(fixed, 3, 1);
  writeUint16(fixed, 9, text.length + 1);
  fixed[11] = text.length;
  return Buffer.concat([fixed, text]);
}

/** A question for addresses of a name, with everything else as random as a client may send it. */
export function randomFormQuery(asked: string): QueryTemplate {
  const name = asked.replace(/[a-z]/g, (letter) => (coin() ? letter.toUpperCase() : letter));
  const question = Buffer.from(encodeQuery({ id: 0, name, type: 'A' }));
  writeUint16(question, 2, (coin() ? FLAG_RD : 0) | (coin() ? FLAG_CD : 0));
  const records = [...(coin() ? [extraRecord()] : []), ...(coin() ? [optRecord()] : [])];
  writeUint16(question, HEADER_BYTES - 2, records.length);
  return { message: Buffer.concat([question, ...records]) };
}
