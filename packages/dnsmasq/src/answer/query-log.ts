import type { Log } from '@kube-dns/daemon';
import { type Client, type ServerAddress, serverText } from '@kube-dns/transport';
import {
  FLAG,
  HEADER_BYTES,
  type Query,
  QUESTION_OFFSET,
  RCODE,
  readUint16,
  RecordCursor,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import { typeName } from '../options/rr-type.js';
import { addressOfReverse, nameText, valueText } from './log-text.js';

/** Whose query a line is about: what stands in front of it. */
export type QueryTag = string;
/** Where an answer comes from. */
export type AnswerSource = 'reply' | 'cached' | 'cached-stale' | 'config';

/** A message has thousands of records at the worst; the log shows so many of them. */
const MAX_LINES = 100;
const DNS_PORT = 53;
const RCODE_TEXTS: ReadonlyMap<number, string> = new Map([
  [RCODE.SERVFAIL, 'SERVFAIL'],
  [RCODE.REFUSED, 'REFUSED'],
  [RCODE.NOTIMP, 'not implemented'],
]);
const NODATA_TEXTS: ReadonlyMap<number, string> = new Map([
  [TYPE.A, 'NODATA-IPv4'],
  [TYPE.AAAA, 'NODATA-IPv6'],
]);

const cursor = new RecordCursor();

/**
 * `--log-queries`: a line per query, per server asked and per record answered, worded as dnsmasq does
 * (src/cache.c, log_query). Lines that the reader of the log does not take are dropped by the log, so
 * answering never waits.
 */
export class QueryLog {
  /** Of the query that is being answered; empty unless lines are numbered. */
  tag: QueryTag = '';
  readonly #log: Log;
  readonly #isExtra: boolean;
  #serial = 0;

  /** `isExtra` puts a number per query and the client in front of each line. */
  constructor(log: Log, isExtra: boolean) {
    this.#log = log;
    this.#isExtra = isExtra;
  }

  query(query: Query, client: Client): void {
    this.#serial++;
    this.tag = this.#isExtra ? `${this.#serial} ${client.address}/${client.port} ` : '';
    const name = nameText(query.bytes, QUESTION_OFFSET);
    this.#write(this.tag, `query[${typeName(query.type)}] ${name} from ${client.address}`);
  }

  forwarded(query: Query, server: ServerAddress): void {
    const { address, port } = server;
    const target = port === DNS_PORT ? address : serverText(server);
    this.#write(this.tag, `forwarded ${nameText(query.bytes, QUESTION_OFFSET)} to ${target}`);
  }

  /** What was answered from here. */
  answer(source: AnswerSource, message: Uint8Array): void {
    this.#writeMessage(this.tag, source, message);
  }

  /** What a server replied to an earlier query. */
  reply(message: Uint8Array, tag: QueryTag | undefined): void {
    this.#writeMessage(tag ?? '', 'reply', message);
  }

  #writeMessage(tag: QueryTag, source: AnswerSource, message: Uint8Array): void {
    cursor.reset(message, message.length);
    if (cursor.isMalformed() || cursor.end === HEADER_BYTES) return;
    const questionType = readUint16(message, cursor.end - 4);
    const flags = readUint16(message, 2);
    const rcode = flags & 0xf;
    if ((flags & FLAG.TC) !== 0) {
      this.#write(tag, `${source} is truncated`);
      return;
    }
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) {
      this.#write(tag, `${source} error is ${RCODE_TEXTS.get(rcode) ?? rcode}`);
      return;
    }
    let nameAt = QUESTION_OFFSET;
    let hasType = false;
    for (let lines = 0; lines < MAX_LINES && cursor.next(); lines++) {
      if (cursor.section !== SECTION.ANSWER) break;
      const { type } = cursor;
      hasType ||= type === questionType || questionType === TYPE.ANY;
      if (type === TYPE.CNAME) nameAt = cursor.rdataStart;
      const owner = nameText(message, cursor.start);
      const shown = type === TYPE.PTR ? addressOfReverse(owner) : owner;
      // Of its own records dnsmasq names the type only.
      const isOwnText = source === 'config' && type === TYPE.TXT;
      const value = isOwnText ? '<TXT>' : valueText(message, cursor);
      this.#write(tag, `${source} ${shown} is ${value}`);
    }
    if (hasType) return;
    const nothing =
      rcode === RCODE.NXDOMAIN ? 'NXDOMAIN' : (NODATA_TEXTS.get(questionType) ?? 'NODATA');
    this.#write(tag, `${source} ${nameText(message, nameAt)} is ${nothing}`);
  }

  #write(tag: QueryTag, line: string): void {
    this.#log.info(tag + line);
  }
}
