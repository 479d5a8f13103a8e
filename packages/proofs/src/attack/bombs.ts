import {
  encodeName,
  encodeQuery,
  HEADER_BYTES,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';
import type { QueryTemplate } from './query-template.js';

const POINTER = 0xc000;
const MAX_UINT16 = 0xffff;
const COUNTS = { question: 4, answer: 6, additional: 10 } as const;
/** QR, RD and RA. */
const REPLY_FLAGS = 0x8180;
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
  writeUint16(head, 2, REPLY_FLAGS);
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
  writeUint16(message, 2, REPLY_FLAGS | TRUNCATED);
  return message;
}
