import type { Log } from '@kube-dns/daemon';
import type { AnswerOrigin, ResolverObserver } from '@kube-dns/resolver';
import {
  type Client,
  type ExchangeObserver,
  type FailureReason,
  type ReplyInspector,
  type ServerAddress,
  type ServerGroup,
  serverText,
} from '@kube-dns/transport';
import {
  addressText,
  encodeKey,
  expandName,
  EXTENDED_ERROR,
  FLAG,
  HEADER_BYTES,
  lowerCaseByte,
  MAX_NAME_BYTES,
  type Query,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  ReverseAddress,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import { typeName } from '../options/values.js';

/** The start of a line, which identifies the query. */
type QueryTag = string;
/** The source of an answer. */
export type AnswerSource = 'reply' | 'cached' | 'cached-stale' | 'config';

/** The origins of local data for the log; names are lower-cased and in wire form. */
interface RecordOrigins {
  /** The hosts file that a record is from; undefined when it is from none. */
  fileOf(owner: Uint8Array, type: number, rdata: Uint8Array): string | undefined;
  /** Whether a reverse name has a `--ptr-record`: its type is shown then, not its address. */
  hasPtrRecord(owner: Uint8Array): boolean;
}

export interface AnswerDetails {
  readonly origins?: RecordOrigins;
  /** The Extended DNS Error of a refusal, which its client gets only with EDNS. */
  readonly errorCode?: number;
}

const NO_DETAILS: AnswerDetails = {};
/** How the answers of the resolver are logged, by where they are from. */
const ORIGINS: Readonly<
  Record<AnswerOrigin, { readonly source: AnswerSource; readonly details: AnswerDetails }>
> = {
  cached: { source: 'cached', details: NO_DETAILS },
  stale: { source: 'cached-stale', details: NO_DETAILS },
  own: { source: 'config', details: NO_DETAILS },
  unrouted: { source: 'config', details: { errorCode: EXTENDED_ERROR.NOT_READY } },
  refused: { source: 'config', details: NO_DETAILS },
};

/** Maximum of logged records per message: a message may have thousands. */
const MAX_LINES = 100;
const DNS_PORT = 53;
const RCODE_TEXTS: ReadonlyMap<number, string> = new Map([
  [RCODE.SERVFAIL, 'SERVFAIL'],
  [RCODE.REFUSED, 'REFUSED'],
  [RCODE.NOTIMP, 'not implemented'],
]);
/** As dnsmasq calls them (src/cache.c, edestr). */
const EXTENDED_ERROR_TEXTS: ReadonlyMap<number, string> = new Map([
  [EXTENDED_ERROR.OTHER, 'other'],
  [EXTENDED_ERROR.CACHED_ERROR, 'cached error'],
  [EXTENDED_ERROR.NOT_READY, 'not ready'],
  [EXTENDED_ERROR.NO_REACHABLE_AUTHORITY, 'no reachable authority'],
  [EXTENDED_ERROR.NETWORK_ERROR, 'network error'],
  [EXTENDED_ERROR.INVALID_DATA, 'invalid data'],
]);
const FAILURE_TEXTS: Readonly<Record<FailureReason, string>> = {
  servfail: 'SERVFAIL',
  refusal: 'REFUSED',
  lame: 'a referral without recursion',
  malformed: 'malformed',
  timeout: 'time-out',
  refused: 'connection refused',
  closed: 'connection closed',
  unreachable: 'unreachable',
  certificate: 'wrong certificate',
  handshake: 'TLS handshake failed',
};
const NODATA_TEXTS: ReadonlyMap<number, string> = new Map([
  [TYPE.A, 'NODATA-IPv4'],
  [TYPE.AAAA, 'NODATA-IPv6'],
]);

/**
 * `--log-queries`: a line per query, per server asked and per record answered, worded as dnsmasq does
 * (src/cache.c, log_query). Lines that the reader of the log does not take are dropped by the log, so
 * answering never waits.
 */
export class QueryLog implements ExchangeObserver, ResolverObserver {
  /** Of the query that is being answered; empty unless lines are numbered. */
  tag: QueryTag = '';
  readonly #log: Log;
  readonly #isExtra: boolean;
  readonly #cursor = new RecordCursor();
  #serial = 0;
  /** The query that the forwarder gets, and whether it was sent to a server. */
  #forwarding: Query | undefined;
  #isSent = false;

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

  /**
   * The query joined one in flight. It is logged immediately, and only where lines are numbered; dnsmasq
   * logs it when that query is answered.
   */
  duplicate(): void {
    if (this.#isExtra) this.#write(this.tag, 'reply query is duplicate');
  }

  /**
   * A server had no answer. dnsmasq logs the rcode alone, and only of an error that the client gets; the
   * query's number is not known here.
   */
  failed(server: ServerAddress, query: Uint8Array, reason: FailureReason): void {
    const name = nameText(query, QUESTION_OFFSET);
    const from = `${name} from ${serverText(server)}`;
    this.#write('', `reply error is ${FAILURE_TEXTS[reason]} (${from})`);
  }

  /** An answer without forwarding. */
  answer(source: AnswerSource, message: Uint8Array, details: AnswerDetails = {}): void {
    this.#writeMessage(this.tag, source, message, details);
  }

  /** A server's reply to an earlier query. */
  reply(message: Uint8Array, tag: QueryTag | undefined): void {
    this.#writeMessage(tag ?? '', 'reply', message, {});
  }

  answered(message: Uint8Array, origin: AnswerOrigin, errorCode?: number): void {
    const { source, details } = ORIGINS[origin];
    this.answer(source, message, errorCode === undefined ? details : { errorCode });
  }

  gaveStale(message: Uint8Array): void {
    this.#writeMessage('', 'cached-stale', message, {});
  }

  /** The reply is logged with the tag of the query that it answers. */
  watch(inspector: ReplyInspector): ReplyInspector {
    const { tag } = this;
    return (reply, isCacheable, outline) => {
      const answer = inspector(reply, isCacheable, outline);
      if (answer) this.reply(answer, tag);
      return answer;
    };
  }

  beforeForwarding(query: Query): void {
    this.#forwarding = query;
    this.#isSent = false;
  }

  sent(server: ServerAddress): void {
    if (this.#forwarding === undefined) return;
    this.forwarded(this.#forwarding, server);
    this.#isSent = true;
  }

  /** Over TCP it may be sent later: the first server is logged. */
  afterForwarding(query: Query, { servers }: ServerGroup, isWaiting: boolean): void {
    this.#forwarding = undefined;
    if (!isWaiting || this.#isSent) return;
    if (query.isOverTcp) this.forwarded(query, servers[0]!);
    else this.duplicate();
  }

  #writeMessage(
    tag: QueryTag,
    source: AnswerSource,
    message: Uint8Array,
    { origins, errorCode = -1 }: AnswerDetails,
  ): void {
    const cursor = this.#cursor.reset(message, message.length);
    if (cursor.isMalformed() || cursor.end === HEADER_BYTES) return;
    const questionType = readUint16(message, cursor.end - 4);
    const flags = readUint16(message, 2);
    const rcode = flags & RCODE_MASK;
    if ((flags & FLAG.TC) !== 0) {
      this.#write(tag, `${source} is truncated`);
      return;
    }
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) {
      const error = EXTENDED_ERROR_TEXTS.get(errorCode);
      const detail = error === undefined ? '' : ` (EDE: ${error})`;
      this.#write(tag, `${source} error is ${RCODE_TEXTS.get(rcode) ?? rcode}${detail}`);
      return;
    }
    let name = nameText(message, QUESTION_OFFSET);
    let hasType = false;
    let isCname = false;
    for (let lines = 0; lines < MAX_LINES && cursor.next(); lines++) {
      if (cursor.section !== SECTION.ANSWER) break;
      const { type } = cursor;
      const owner = nameText(message, cursor.start);
      // As in dnsmasq, only the CNAME chain and the records at its end are shown.
      if (owner.toLowerCase() !== name.toLowerCase()) continue;
      const isWanted = type === questionType || questionType === TYPE.ANY;
      hasType ||= isWanted;
      if (type === TYPE.CNAME) {
        name = nameText(message, cursor.rdataStart);
        isCname = true;
      } else if (!isWanted && questionType === TYPE.PTR) continue;
      this.#write(tag, recordLine(source, owner, message, cursor, questionType, origins));
    }
    // The end of a CNAME chain of the command line has no line: it is not local.
    if (hasType || (source === 'config' && isCname)) return;
    const nothing =
      rcode === RCODE.NXDOMAIN ? 'NXDOMAIN' : (NODATA_TEXTS.get(questionType) ?? 'NODATA');
    this.#write(tag, `${source} ${name} is ${nothing}`);
  }

  #write(tag: QueryTag, line: string): void {
    this.#log.info(tag + line);
  }
}

/** The line of the record that a cursor is at. */
function recordLine(
  source: AnswerSource,
  owner: string,
  message: Uint8Array,
  record: RecordCursor,
  questionType: number,
  origins: RecordOrigins | undefined,
): string {
  const { type, start, rdataStart, end } = record;
  const isReverse = type === TYPE.PTR;
  // Of a reply the requested data is shown; of local records dnsmasq shows the type only.
  const isOwnText = source === 'config' && type === TYPE.TXT;
  const isOther = type !== questionType && (source === 'reply' || questionType !== TYPE.ANY);
  if (origins === undefined) {
    const value = isOther || isOwnText ? typeText(type) : valueText(message, record);
    return `${source} ${isReverse ? addressOfReverse(owner) : owner} is ${value}`;
  }
  const key = wireName(message, start).map(lowerCaseByte);
  if (isReverse && origins.hasPtrRecord(key)) return `${source} ${owner} is ${typeText(type)}`;
  const isAddress = type === TYPE.A || type === TYPE.AAAA;
  const rdata = isReverse ? wireName(message, rdataStart) : message.subarray(rdataStart, end);
  const file = isReverse || isAddress ? origins.fileOf(key, type, rdata) : undefined;
  const value = isOwnText ? typeText(type) : valueText(message, record);
  return `${file ?? source} ${isReverse ? addressOfReverse(owner) : owner} is ${value}`;
}

function wireName(message: Uint8Array, at: number): Uint8Array {
  const name = new Uint8Array(MAX_NAME_BYTES);
  return name.subarray(0, Math.max(0, expandName(message, at, message.length, name)));
}

const UNPRINTABLE = '<name unprintable>';
const LOWEST_PRINTABLE = 0x20;
const HIGHEST_PRINTABLE = 0x7e;
/** A possible reverse name: no label needs an escape. */
const REVERSE_NAME = /^(?:[0-9a-f]{1,3}\.)+(?:in-addr|ip6)\.arpa$/i;

/** The name at an offset of a message as dnsmasq logs it; the root is `.`. */
export function nameText(message: Uint8Array, at: number): string {
  const name = new Uint8Array(MAX_NAME_BYTES);
  const length = expandName(message, at, message.length, name);
  if (length < 0) return UNPRINTABLE;
  if (length === 1) return '.';
  let text = '';
  for (let from = 0; name[from] !== 0; from += name[from]! + 1) {
    for (let i = from + 1; i <= from + name[from]!; i++) {
      const byte = name[i]!;
      if (byte < LOWEST_PRINTABLE || byte > HIGHEST_PRINTABLE) return UNPRINTABLE;
      text += String.fromCharCode(byte);
    }
    text += '.';
  }
  return text.slice(0, -1);
}

/** The address of a complete reverse name; other names unchanged. */
export function addressOfReverse(text: string): string {
  if (!REVERSE_NAME.test(text)) return text;
  const key = encodeKey(text);
  const { isWhole, bytes, size } = new ReverseAddress().read(key, key.length);
  return isWhole ? addressText(bytes.subarray(0, size)) : text;
}

/** The data of a record as text: its address, its name, its text, or `<TYPE>`. */
export function valueText(message: Uint8Array, record: RecordCursor): string {
  const { type, rdataStart, end } = record;
  const data = message.subarray(rdataStart, end);
  switch (type) {
    case TYPE.A:
      return data.length === 4 ? addressText(data) : '<A>';
    case TYPE.AAAA:
      return data.length === 16 ? addressText(data) : '<AAAA>';
    case TYPE.PTR:
      return nameText(message, rdataStart);
    case TYPE.TXT:
      return firstString(data);
    default:
      return typeText(type);
  }
}

/** dnsmasq's text for the data of other records: `<TYPE>`. */
function typeText(type: number): string {
  return `<${typeName(type)}>`;
}

function firstString(data: Uint8Array): string {
  const text = Buffer.from(data.subarray(1, 1 + (data[0] ?? 0))).toString('latin1');
  return /^[\x20-\x7e]*$/.test(text) ? text : UNPRINTABLE;
}
