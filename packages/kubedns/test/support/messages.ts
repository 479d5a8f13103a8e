import type { Client, ReplyPath } from '@kube-dns/transport';
import {
  decodeMessage,
  type DecodedMessage,
  encodeQuery,
  FLAG,
  Query,
  readUint16,
  writeUint16,
} from '@kube-dns/wire';

export interface Asked {
  readonly hasEdns?: boolean;
  readonly isOverTcp?: boolean;
  readonly class?: number;
  /** A client cookie in the OPT record, eight bytes in hexadecimal. */
  readonly cookie?: string;
}

const CLASS_FROM_END = 2;
const EXTENDED_ERROR_OPTION = 15;
const OPT = Buffer.from('00002904d0000000000000', 'hex');

/** The bytes of a query with RD for one name and a type by name or number. */
export function queryBytes(name: string, type: string | number, asked: Asked = {}): Buffer {
  const isNumber = typeof type === 'number';
  const bytes = encodeQuery({ id: 0x1234, name, type: isNumber ? 'A' : type });
  if (isNumber) writeUint16(bytes, bytes.length - 4, type);
  if (asked.class !== undefined) writeUint16(bytes, bytes.length - CLASS_FROM_END, asked.class);
  if (asked.hasEdns !== true) return bytes;
  writeUint16(bytes, 10, 1);
  if (asked.cookie === undefined) return Buffer.concat([bytes, OPT]);
  const option = Buffer.from(`000a0008${asked.cookie}`, 'hex');
  const message = Buffer.concat([bytes, OPT, option]);
  writeUint16(message, message.length - option.length - 2, option.length);
  return message;
}

/** A query as a listener passes it to an answerer. */
export function readQuery(name: string, type: string | number, asked: Asked = {}): Query {
  const bytes = queryBytes(name, type, asked);
  const query = new Query();
  const verdict = query.read(bytes, bytes.length, asked.isOverTcp ?? false, 4096);
  if (verdict !== 'answer') throw new Error(`the query is ${verdict}`);
  return query;
}

/** A decoded answer, as text where tests compare it. */
export interface Answer {
  readonly rcode: string;
  /** Names of the flags that are set, TC last: `aa ra`. */
  readonly flags: string;
  readonly question: string;
  /** `owner TYPE data` of each record, in the order of the message. */
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  /** Without OPT. */
  readonly additionals: readonly string[];
  /** The TTLs of all records but OPT, in the order of the message. */
  readonly ttls: readonly number[];
  readonly hasOpt: boolean;
  /** The code of the Extended DNS Error, and -1 without one. */
  readonly extendedError: number;
  /** Its text; empty without one. */
  readonly reason: string;
}

/** Decodes an answer with dns-packet. */
export function readAnswer(bytes: Uint8Array): Answer {
  const message = decodeMessage(bytes);
  const records = [message.answers, message.authorities, message.additionals].map(withoutOpt);
  const [answers, authorities, additionals] = records.map((some) => some.map(textOf));
  const extendedError = extendedErrorOf(message);
  return {
    rcode: message.rcode,
    flags: flagsText(readUint16(bytes, 2)),
    question: message.questions.map(({ name, type }) => `${name} ${type}`).join(),
    answers: answers!,
    authorities: authorities!,
    additionals: additionals!,
    ttls: records.flat().map((record) => ('ttl' in record ? (record.ttl ?? -1) : -1)),
    hasOpt: message.additionals.some(({ type }) => type === 'OPT'),
    extendedError: extendedError === undefined ? -1 : readUint16(extendedError, 0),
    reason: extendedError?.toString('utf8', 2) ?? '',
  };
}

type DecodedRecord = DecodedMessage['answers'][number];

function withoutOpt(records: readonly DecodedRecord[]): DecodedRecord[] {
  return records.filter(({ type }) => type !== 'OPT');
}

function flagsText(flags: number): string {
  const names = ['AA', 'RA', 'RD', 'TC', 'AD'] as const;
  return names
    .filter((name) => (flags & FLAG[name]) !== 0)
    .join(' ')
    .toLowerCase();
}

function textOf(record: DecodedRecord): string {
  return `${record.name} ${record.type} ${dataOf(record)}`;
}

function dataOf(record: DecodedRecord): string {
  switch (record.type) {
    case 'SRV': {
      const { priority = 0, weight = 0, port, target } = record.data;
      return `${priority} ${weight} ${port} ${target}`;
    }
    case 'SOA':
      return `${record.data.mname} ${record.data.rname} ${record.data.minimum ?? 0}`;
    case 'MX':
      return `${record.data.preference ?? 0} ${record.data.exchange}`;
    case 'TXT':
      return [record.data].flat().join('|');
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return record.data;
    default:
      return '?';
  }
}

/** The data of the option. */
function extendedErrorOf(message: DecodedMessage): Buffer | undefined {
  for (const record of message.additionals) {
    if (record.type !== 'OPT') continue;
    const codes: readonly number[] = record.options.map(({ code }) => code);
    const option = record.options[codes.indexOf(EXTENDED_ERROR_OPTION)];
    if (option !== undefined && 'data' in option && option.data instanceof Uint8Array) {
      return Buffer.from(option.data);
    }
  }
  return undefined;
}

/** The client of one question; a deferred answer resolves `later`. */
export class FakeClient implements Client {
  static #lastPort = 10_000;
  readonly address = '192.0.2.1';
  /** A new one each: a query of the same client with the same ID is a retransmission. */
  readonly port = ++FakeClient.#lastPort;
  readonly later: Promise<Answer>;
  #resolve!: (answer: Answer) => void;

  constructor() {
    this.later = new Promise((resolve) => (this.#resolve = resolve));
  }

  answersFrom(): void {
    // Nothing is observed here.
  }

  defer(): ReplyPath {
    return {
      address: this.address,
      port: this.port,
      send: (message, length) => this.#resolve(readAnswer(message.subarray(0, length))),
      abandon: () => undefined,
    };
  }
}
