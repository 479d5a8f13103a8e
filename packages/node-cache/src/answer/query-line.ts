import type { Log } from '@kube-dns/daemon';
import type { Client } from '@kube-dns/transport';
import {
  CLASS,
  decodeName,
  FLAG,
  type Query,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  RCODE_NAMES,
  readUint16,
} from '@kube-dns/wire';
import type { LogRules } from '../corefile/server-block.js';
import { typeText } from './type-text.js';
import { type ZoneSet, zoneSet } from './zone-set.js';

const FLAG_NAMES = [
  [FLAG.QR, 'qr'],
  [FLAG.AA, 'aa'],
  [FLAG.TC, 'tc'],
  [FLAG.RD, 'rd'],
  [FLAG.RA, 'ra'],
  [FLAG.AD, 'ad'],
  [FLAG.CD, 'cd'],
] as const;
/** The formats that CoreDNS has names for (plugin/log). */
const COMMON =
  '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" {rcode} {>rflags} {rsize} {duration}';
const COMBINED = `${COMMON} {>opcode}`;
const CLASS_TEXT: Readonly<Record<number, string>> = {
  [CLASS.IN]: 'IN',
  [CLASS.CH]: 'CH',
  [CLASS.ANY]: 'ANY',
};

/** What is known of a query before it is answered, by the words of a format. */
export type AskedWords = Readonly<Record<string, string>>;

/** The plugin `log`: a line for each answer of some classes. */
export class QueryLines {
  readonly #classes: ReadonlySet<string>;
  readonly #format: string;
  readonly #zones: ZoneSet<true>;
  readonly #log: Log;

  /** `zones` are those of the block, where the rules name none. */
  constructor(rules: LogRules, zones: readonly string[], log: Log) {
    const { format, classes } = rules;
    this.#format = format.replaceAll('{combined}', COMBINED).replaceAll('{common}', COMMON);
    if (this.#format === '') this.#format = COMMON;
    this.#classes = new Set(classes);
    this.#zones = zoneSet(rules.zones.length === 0 ? zones : rules.zones);
    this.#log = log;
  }

  /** Whether answers to a query are logged. */
  isLogged({ name, nameLength }: Query): boolean {
    return this.#zones.find(name, nameLength) === true;
  }

  /** To be kept until the answer is sent, as the query is another one then. */
  wordsOf(query: Query, { address, port }: Client): AskedWords {
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
  write(asked: AskedWords, answer: Uint8Array, length: number, seconds: number): void {
    const flags = readUint16(answer, 2);
    const rcode = flags & RCODE_MASK;
    if (!this.#classes.has('all') && !this.#classes.has(classOf(rcode, answer))) return;
    const words: Readonly<Record<string, string>> = {
      ...asked,
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
