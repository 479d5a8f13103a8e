import { TokenBucket } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import {
  type Client,
  type ExchangeObserver,
  type FailureReason,
  type ServerAddress,
  serverText,
} from '@kube-dns/transport';
import {
  CLASS,
  decodeName,
  FLAG,
  HEADER_BYTES,
  type Query,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  RCODE_NAMES,
  readUint16,
  skipName,
} from '@kube-dns/wire';
import type { ErrorPattern, LogRules } from '../corefile/server-block.js';
import { typeText, type ZoneSet, zoneSet } from './zones.js';

/** Lines a second: a flood of failures is one of lines otherwise. */
const LINES_PER_SECOND = 20;

interface Consolidated {
  readonly pattern: ErrorPattern;
  count: number;
  timer: NodeJS.Timeout | undefined;
}

/** The plugin `errors`: one line for each failure of a server, in the form of CoreDNS; those of a pattern together. */
export class ErrorLog implements ExchangeObserver {
  /** Lines that were left out because there were too many. */
  dropped = 0;
  readonly #log: Log;
  readonly #patterns: readonly Consolidated[];
  readonly #lines = new TokenBucket(LINES_PER_SECOND, LINES_PER_SECOND);

  constructor(patterns: readonly ErrorPattern[], log: Log) {
    this.#log = log;
    this.#patterns = patterns.map((pattern) => ({ pattern, count: 0, timer: undefined }));
  }

  /** A server had no answer to a question, whose query this is. */
  failed(server: ServerAddress, query: Uint8Array, reason: FailureReason): void {
    const end = skipName(query, HEADER_BYTES, query.length);
    const name = decodeName(query.subarray(HEADER_BYTES, end));
    const text = `${name}. ${typeText(readUint16(query, end))}: ${serverText(server)}: ${reason}`;
    const line = `plugin/errors: ${RCODE.SERVFAIL} ${text}`;
    const consolidated = this.#patterns.find(({ pattern }) => pattern.pattern.test(text));
    if (consolidated === undefined) this.#write(line);
    else this.#count(consolidated, line);
  }

  close(): void {
    for (const { timer } of this.#patterns) clearTimeout(timer);
  }

  #write(line: string): void {
    if (this.#lines.take()) this.#log.error(line);
    else this.dropped++;
  }

  #count(consolidated: Consolidated, line: string): void {
    const { pattern } = consolidated;
    if (consolidated.count++ === 0) {
      if (pattern.showsFirst) this.#write(line);
      consolidated.timer = setTimeout(() => this.#sum(consolidated), pattern.periodMs).unref();
    }
  }

  #sum(consolidated: Consolidated): void {
    const { level, pattern, periodMs } = consolidated.pattern;
    const text = `plugin/errors: ${consolidated.count} errors like '${pattern.source}' occurred in last ${periodMs / 1_000}s`;
    consolidated.count = 0;
    if (level === 'error') this.#log.error(text);
    else if (level === 'warning') this.#log.warn(text);
    else this.#log.info(text);
  }
}

const FLAG_NAMES = [
  [FLAG.QR, 'qr'],
  [FLAG.AA, 'aa'],
  [FLAG.TC, 'tc'],
  [FLAG.RD, 'rd'],
  [FLAG.RA, 'ra'],
  [FLAG.AD, 'ad'],
  [FLAG.CD, 'cd'],
] as const;
const CLASS_TEXT: Readonly<Record<number, string>> = {
  [CLASS.IN]: 'IN',
  [CLASS.CH]: 'CH',
  [CLASS.ANY]: 'ANY',
};

/** What is known of a query before it is answered, by the words of a format. */
export type QueryWords = Readonly<Record<string, string>>;

/** The plugin `log`: a line for each answer of some classes. */
export class QueryLines {
  readonly #classes: ReadonlySet<string>;
  readonly #format: string;
  readonly #zones: ZoneSet<true>;
  readonly #log: Log;

  /** `zones` are those of the block, where the rules name none. */
  constructor(rules: LogRules, zones: readonly string[], log: Log) {
    this.#format = rules.format;
    this.#classes = new Set(rules.classes);
    this.#zones = zoneSet(rules.zones.length === 0 ? zones : rules.zones);
    this.#log = log;
  }

  /** Whether answers to a query are logged. */
  isLogged({ name, nameLength }: Query): boolean {
    return this.#zones.find(name, nameLength) === true;
  }

  /** To be kept until the answer is sent, as the query is another one then. */
  wordsOf(query: Query, { address, port }: Client): QueryWords {
    return {
      remote: address.includes(':') ? `[${address}]` : address,
      port: `${port}`,
      '>id': `${query.id}`,
      type: typeText(query.type),
      class: CLASS_TEXT[query.class] ?? `CLASS${query.class}`,
      name: `${decodeName(query.bytes, QUESTION_OFFSET)}.`.replace(/\.\.$/, '.'),
      proto: query.isOverTcp ? 'tcp' : 'udp',
      size: `${query.length}`,
      '>do': `${query.isDnssecOk}`,
      '>bufsize': `${query.maxAnswerBytes}`,
      '>opcode': '0',
    };
  }

  /** Writes the line of an answer, if it is of a class that is logged. */
  write(queryWords: QueryWords, answer: Uint8Array, length: number, seconds: number): void {
    const flags = readUint16(answer, 2);
    const rcode = flags & RCODE_MASK;
    if (!this.#classes.has('all') && !this.#classes.has(classOf(rcode, answer))) return;
    const words: Readonly<Record<string, string>> = {
      ...queryWords,
      rcode: RCODE_NAMES[rcode] ?? `RCODE${rcode}`,
      '>rflags': FLAG_NAMES.filter(([bit]) => (flags & bit) !== 0)
        .map(([, name]) => name)
        .join(),
      rsize: `${length}`,
      duration: `${seconds.toFixed(9)}s`,
    };
    this.#log.info(this.#format.replace(/\{([^}]+)\}/g, (_, word: string) => words[word] ?? '-'));
  }
}

function classOf(rcode: number, answer: Uint8Array): string {
  if (rcode === RCODE.NXDOMAIN) return 'denial';
  if (rcode !== RCODE.NOERROR) return 'error';
  return readUint16(answer, 6) === 0 ? 'denial' : 'success';
}
