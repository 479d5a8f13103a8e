import { encodeName, encodeRdata, parseAddress, TYPE, typeNumber, WireError } from '@kube-dns/wire';
import { CLASS_NUMBERS } from './numbers.js';

/** What a template can name of a question. */
export interface TemplateData {
  /** In lower case, with the last dot. */
  readonly name: string;
  /** As the client wrote it. */
  readonly question: string;
  readonly zone: string;
  readonly class: string;
  readonly type: string;
  readonly remote: string;
  /** The expression that matched, its match and groups, and the numbers of those with names. */
  readonly regex: string;
  readonly match: readonly string[];
  readonly groupNames: Readonly<Record<string, number>>;
}

/** A record of an answer; names are in wire form. */
export interface MadeRecord {
  /** Undefined where it is the question's name. */
  readonly owner: Uint8Array | undefined;
  readonly ttlSeconds: number;
  readonly type: number;
  readonly rdata: Uint8Array;
}

/** A piece of text, or what is put there for a question; undefined where it cannot be. */
type Part = string | ((data: TemplateData) => string | undefined);
/** One word of the record. */
type Word = readonly Part[];

const FIELDS: ReadonlyMap<string, (data: TemplateData) => string> = new Map([
  ['.Name', (data: TemplateData) => data.name],
  ['.Zone', (data: TemplateData) => data.zone],
  ['.Class', (data: TemplateData) => data.class],
  ['.Type', (data: TemplateData) => data.type],
  ['.Remote', (data: TemplateData) => data.remote],
  ['.Regex', (data: TemplateData) => data.regex],
  ['.Question.Name', (data: TemplateData) => data.question],
]);
const KNOWN = '.Name, .Zone, .Class, .Type, .Remote, .Group.x, index .Match 1, parseInt … 16 32';
const ACTION = /\{\{(-\s)?(.*?)(\s-)?\}\}/gs;

/**
 * A record as a line of a zone file (RFC 1035 section 5.1), with the simple actions of Go's templates. What does not
 * change with the question is read once.
 */
export class RecordTemplate {
  readonly text: string;
  readonly #words: readonly Word[];
  readonly #isOfQuestion: boolean;
  /** All but the owner, where no action is in it. */
  readonly #fixed: Omit<MadeRecord, 'owner'> | undefined;

  /** Throws an Error with the reason for an action that is not obeyed, and for a record that no question can make right. */
  constructor(text: string) {
    this.text = text;
    this.#words = wordsOf(partsOf(text));
    const [owner = [], ...rest] = this.#words;
    this.#isOfQuestion = owner.length === 1 && owner[0] === FIELDS.get('.Name');
    const isFixed = rest.every((word) => word.every((part) => typeof part === 'string'));
    this.#fixed = isFixed ? readRecord(rest.map((word) => word.join(''))) : undefined;
  }

  /** The record for a question; undefined where what is put together is none. */
  make(data: TemplateData): MadeRecord | undefined {
    const [owner = [], ...rest] = this.#words;
    try {
      const name = this.#isOfQuestion ? undefined : encodeName(textOf(owner, data));
      const record = this.#fixed ?? readRecord(rest.map((word) => textOf(word, data)));
      return { owner: name, ttlSeconds: record.ttlSeconds, type: record.type, rdata: record.rdata };
    } catch (error) {
      if (error instanceof RecordError || error instanceof WireError) return undefined;
      throw error;
    }
  }
}

/** A record that cannot be read, or made. */
class RecordError extends Error {}

function textOf(word: Word, data: TemplateData): string {
  let text = '';
  for (const part of word) {
    const piece = typeof part === 'string' ? part : part(data);
    if (piece === undefined) throw new RecordError('there is no such group');
    text += piece;
  }
  return text;
}

/** The text and the actions between `{{` and `}}`, where a dash takes the blanks beside it away. */
function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  let isTrimmed = false;
  const addText = (piece: string) => {
    const own = isTrimmed ? piece.trimStart() : piece;
    if (/\{\{|\}\}/.test(own)) throw new Error('an action begins or ends without the other');
    if (own !== '') parts.push(own);
  };
  for (const found of text.matchAll(ACTION)) {
    const [all, before, action = '', after] = found;
    const piece = text.slice(at, found.index);
    addText(before === undefined ? piece : piece.trimEnd());
    parts.push(readAction(action.trim()));
    isTrimmed = after !== undefined;
    at = found.index + all.length;
  }
  addText(text.slice(at));
  return parts;
}

/** Words between blanks; a quoted one has its quotes, and brackets are for lines. */
function wordsOf(parts: readonly Part[]): Word[] {
  const words: Part[][] = [];
  let word: Part[] | undefined;
  let isQuoted = false;
  const add = (part: Part) => {
    if (word === undefined) words.push((word = []));
    word.push(part);
  };
  for (const part of parts) {
    if (typeof part !== 'string') {
      add(part);
      continue;
    }
    for (const [piece] of part.matchAll(/\\.|"|[^\\"]/gs)) {
      if (piece === '"') isQuoted = !isQuoted;
      if (!isQuoted && /^[\s()]$/.test(piece)) word = undefined;
      else add(piece);
    }
  }
  if (isQuoted) throw new Error('a quote does not end');
  return words.map((each) => joined(each));
}

/** With its pieces of text joined. */
function joined(word: readonly Part[]): Word {
  const parts: Part[] = [];
  for (const part of word) {
    const last = parts.at(-1);
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part;
    else parts.push(part);
  }
  return parts;
}

type Value = (data: TemplateData) => string | undefined;

function readAction(text: string): Value {
  const tokens = text.match(/"[^"]*"|`[^`]*`|[()]|[^\s()]+/g) ?? [];
  const reader = { at: 0, tokens };
  const value = readValue(reader, text);
  if (reader.at < tokens.length) throw unknownAction(text);
  return value;
}

/** `.Field`, `index .Match 1`, `index .Group "x"`, `parseInt VALUE BASE BITS`, or one of them in brackets. */
function readValue(reader: { at: number; tokens: readonly string[] }, text: string): Value {
  const token = reader.tokens[reader.at++] ?? '';
  const field = FIELDS.get(token);
  if (field !== undefined) return field;
  const [, group] = /^\.Group\.([A-Za-z_]\w*)$/.exec(token) ?? [];
  if (group !== undefined) return (data) => groupOf(data, group) ?? '';
  if (token === '(') {
    const value = readValue(reader, text);
    if (reader.tokens[reader.at++] !== ')') throw unknownAction(text);
    return value;
  }
  if (token === 'index') return readIndex(reader, text);
  if (token !== 'parseInt') throw unknownAction(text);
  const value = readValue(reader, text);
  const [base, bits] = [Number(reader.tokens[reader.at++]), Number(reader.tokens[reader.at++])];
  if (!Number.isInteger(base) || base < 2 || base > 36 || !Number.isInteger(bits) || bits > 64) {
    throw unknownAction(text);
  }
  return (data) => parsedInt(value(data), base, bits);
}

function readIndex(reader: { at: number; tokens: readonly string[] }, text: string): Value {
  const [list, key = ''] = reader.tokens.slice(reader.at, reader.at + 2);
  reader.at += 2;
  if (list === '.Match' && /^\d{1,3}$/.test(key)) return ({ match }) => match[Number(key)];
  const [, name] = /^["`](.*)["`]$/.exec(key) ?? [];
  if (list !== '.Group' || name === undefined) throw unknownAction(text);
  return (data) => groupOf(data, name) ?? '';
}

/** A group by its name or number, as text. */
function groupOf({ match, groupNames }: TemplateData, name: string): string | undefined {
  return match[/^\d+$/.test(name) ? Number(name) : (groupNames[name] ?? -1)];
}

/** Go's strconv.ParseUint, in decimal digits; undefined for what is no such number. */
function parsedInt(text: string | undefined, base: number, bits: number): string | undefined {
  const digits = '0123456789abcdefghijklmnopqrstuvwxyz'.slice(0, base);
  let value = 0n;
  for (const char of (text ?? '').toLowerCase()) {
    const digit = digits.indexOf(char);
    if (digit < 0) return undefined;
    value = value * BigInt(base) + BigInt(digit);
    if (value >= 1n << BigInt(bits === 0 ? 64 : bits)) return undefined;
  }
  return text ? `${value}` : undefined;
}

function unknownAction(text: string): Error {
  return new Error(`{{ ${text} }} is not known: what there is are ${KNOWN}`);
}

/** miekg/dns of a line without a TTL. */
const DEFAULT_TTL = 3_600;
const TTL_UNITS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
  w: 604_800,
};
const MAX_TTL = 2 ** 31 - 1;

/** The words of a record after its owner: TTL and class in any order, the type, its data. Throws a RecordError or a WireError. */
function readRecord(words: readonly string[]): Omit<MadeRecord, 'owner'> {
  let ttlSeconds = DEFAULT_TTL;
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at]!;
    const ttl = ttlOf(word);
    if (ttl !== undefined) ttlSeconds = ttl;
    else if (!CLASS_NUMBERS.has(word.toUpperCase()) || word.toUpperCase() === 'ANY') break;
  }
  const type = typeNumber(words[at] ?? '');
  if (type === undefined) throw new RecordError(`${JSON.stringify(words[at] ?? '')} is no type`);
  return { ttlSeconds, type, rdata: readRdata(type, words.slice(at + 1), words[at]!) };
}

/** `60`, `1h30m`; undefined for any other word. */
function ttlOf(word: string): number | undefined {
  if (!/^(\d+[smhdw]?)+$/i.test(word)) return undefined;
  let seconds = 0;
  for (const [, digits = '', unit = 's'] of word.toLowerCase().matchAll(/(\d+)([smhdw]?)/g)) {
    seconds += Number(digits) * (TTL_UNITS[unit] ?? 1);
  }
  return seconds <= MAX_TTL ? seconds : undefined;
}

function readRdata(type: number, words: readonly string[], typeWord: string): Uint8Array {
  const [first = ''] = words;
  const count = DATA_WORDS.get(type);
  if (count !== undefined && words.length !== count) {
    throw new RecordError(`a record of type ${typeWord} has ${count} words of data`);
  }
  switch (type) {
    case TYPE.A:
    case TYPE.AAAA: {
      const bytes = parseAddress(first);
      if (bytes?.length !== (type === TYPE.A ? 4 : 16)) {
        throw new RecordError(`${JSON.stringify(first)} is no address of type ${typeWord}`);
      }
      return bytes;
    }
    case TYPE.CNAME:
    case TYPE.DNAME:
    case TYPE.NS:
    case TYPE.PTR:
      return encodeName(first);
    case TYPE.MX:
      return encodeRdata({
        name: '.',
        type: 'MX',
        data: { preference: number16(first), exchange: words[1]! },
      });
    case TYPE.SRV: {
      const [priority, weight, port] = words.slice(0, 3).map(number16);
      return encodeRdata({
        name: '.',
        type: 'SRV',
        data: { priority: priority!, weight: weight!, port: port!, target: words[3]! },
      });
    }
    case TYPE.SOA: {
      const [serial, refresh, retry, expire, minimum] = words.slice(2).map(number32);
      return encodeRdata({
        name: '.',
        type: 'SOA',
        data: { mname: first, rname: words[1]!, serial, refresh, retry, expire, minimum },
      });
    }
    case TYPE.TXT:
      if (words.length === 0) throw new RecordError('a record of type TXT has text');
      return encodeRdata({ name: '.', type: 'TXT', data: words.map(unquoted) });
    default:
      throw new RecordError(`records of type ${typeWord} are not made here`);
  }
}

const DATA_WORDS: ReadonlyMap<number, number> = new Map([
  [TYPE.A, 1],
  [TYPE.AAAA, 1],
  [TYPE.CNAME, 1],
  [TYPE.DNAME, 1],
  [TYPE.NS, 1],
  [TYPE.PTR, 1],
  [TYPE.MX, 2],
  [TYPE.SRV, 4],
  [TYPE.SOA, 7],
]);

function number16(word: string): number {
  const value = /^\d{1,5}$/.test(word) ? Number(word) : NaN;
  if (value < 2 ** 16) return value;
  throw new RecordError(`${JSON.stringify(word)} is not a number from 0 to 65535`);
}

/** A number, or a time with units. */
function number32(word: string): number {
  const value = /^\d{1,10}$/.test(word) ? Number(word) : (ttlOf(word) ?? NaN);
  if (value < 2 ** 32) return value;
  throw new RecordError(`${JSON.stringify(word)} is no number of 32 bits`);
}

function unquoted(word: string): string {
  return word.replaceAll(/\\(.)|"/gs, '$1');
}
