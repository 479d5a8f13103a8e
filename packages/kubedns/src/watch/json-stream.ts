import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  errorText,
  JsonShape,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '@kube-dns/base';
import { StreamError } from '../errors.js';
import type { ApiObject } from './store.js';

/** More than an object of the API has (etcd stops at 1.5 MiB); decoding and parsing it cannot be interrupted. */
const MAX_OBJECT_BYTES = 2 * 1024 * 1024;
/** A smaller text is parsed within a few milliseconds, whatever it holds. */
const MEASURED_BYTES = 64 * 1024;
/** The beginning of an object has its metadata, and these begin with its name. */
const HEAD_BYTES = 16 * 1024;

/** An object that is too large, or too complex, to be read: the reason, and the beginning of its text. */
export class Unread {
  readonly reason: string;
  readonly head: string;

  constructor(reason: string, head: string) {
    this.reason = reason;
    this.head = head;
  }
}

/**
 * Collects the pieces of the JSON text of one object after the other. Of one that is too large or too
 * complex only the beginning is stored, and its other bytes are passed over.
 */
export class JsonText {
  readonly #what: string;
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #shape: JsonShape | undefined;
  #problem: string | undefined;

  /** `what` names the text in errors, as `a line`. */
  constructor(what: string, maxBytes = MAX_OBJECT_BYTES) {
    this.#what = what;
    this.#maxBytes = maxBytes;
  }

  /** The bytes since the last `take`. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Those of them that are stored. */
  get storedBytes(): number {
    return this.#pieces.reduce((sum, { length }) => sum + length, 0);
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#problem !== undefined) return;
    this.#pieces.push(piece);
    this.#problem = this.#measure(piece);
    if (this.#problem !== undefined) this.#pieces = [this.#head()];
  }

  /**
   * The value of the text, or Unread; undefined when it is blank. Begins the next text. Throws a StreamError
   * (`garbled`) for a text that is not JSON.
   */
  take(): unknown {
    const text = this.#joined().toString('utf8');
    const problem = this.#problem;
    this.#pieces = [];
    this.#bytes = 0;
    this.#shape = this.#problem = undefined;
    if (problem !== undefined) return new Unread(problem, text);
    return text.trim() === '' ? undefined : parseJson(text, this.#what);
  }

  #measure(piece: Buffer): string | undefined {
    if (this.#bytes > this.#maxBytes) return `it has more than ${this.#maxBytes} bytes`;
    if (this.#bytes <= MEASURED_BYTES) return undefined;
    if (this.#shape !== undefined) return this.#shape.add(piece);
    this.#shape = new JsonShape();
    return this.#shape.add(this.#joined());
  }

  /** A copy: a view would retain the other bytes. */
  #head(): Buffer {
    return Buffer.concat(this.#pieces, Math.min(this.#bytes, HEAD_BYTES));
  }

  #joined(): Buffer {
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
  }
}

/** Throws a StreamError (`garbled`) for what is not JSON. */
function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StreamError('garbled', `${what} is not JSON: ${errorText(cause)}`, { cause });
  }
}

const NEWLINE = 0x0a;
/** A longer line is passed over no further: it may never end. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Between two lines of a watch, which has none; each costs half a microsecond. */
const MAX_BLANK_LINES = 1_000;

/** Splits a stream of bytes at newlines, and parses each line as JSON. */
export class LineReader {
  readonly #line: JsonText;
  /** In a row. */
  #blanks = 0;

  constructor(maxLineBytes?: number) {
    this.#line = new JsonText('a line', maxLineBytes);
  }

  /** Bytes after the last newline: at the end of the stream they are a cut line. */
  get pendingBytes(): number {
    return this.#line.bytes;
  }

  /**
   * Yields the lines that end in this chunk, without blank ones; Unread for one that is too large. Throws a
   * StreamError (`garbled`) for a line that is not JSON, for one above 64 MiB before its end, and for more than a
   * thousand blank ones in a row.
   */
  *push(chunk: Buffer): Generator {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#line.add(chunk.subarray(start, end));
      start = end + 1;
      const value = this.#line.take();
      this.#blanks = value === undefined ? this.#blanks + 1 : 0;
      if (value !== undefined) yield value;
      else if (this.#blanks > MAX_BLANK_LINES) {
        throw new StreamError('garbled', `more than ${MAX_BLANK_LINES} blank lines in a row`);
      }
    }
    if (start < chunk.length) this.#line.add(chunk.subarray(start));
    if (this.#line.bytes <= MAX_LINE_BYTES) return;
    throw new StreamError('garbled', `a line has more than ${MAX_LINE_BYTES} bytes`);
  }
}

/** The kinds of the lists that are read, by the last part of their paths. */
const LIST_KINDS: Readonly<Record<string, string>> = {
  services: 'ServiceList',
  endpointslices: 'EndpointSliceList',
  endpoints: 'EndpointsList',
  namespaces: 'NamespaceList',
  configmaps: 'ConfigMapList',
  serviceimports: 'ServiceImportList',
  ingresses: 'IngressList',
  httproutes: 'HTTPRouteList',
  grpcroutes: 'GRPCRouteList',
  tlsroutes: 'TLSRouteList',
  gateways: 'GatewayList',
};

/** The kind of the list at this path of the API, as `ServiceList`. */
export function listKind(path: string): string {
  const kind = LIST_KINDS[path.slice(path.lastIndexOf('/') + 1)];
  if (kind === undefined) throw new Error(`no kind of list is known for ${path}`);
  return kind;
}

/** The `metadata` of a list. */
export interface ListMeta {
  readonly resourceVersion: string;
  /** The token of the next page; empty on the last one. */
  readonly continue: string;
}

/** What a list is besides its items. */
interface ListFrame {
  readonly kind?: unknown;
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown };
  readonly items?: unknown;
}

/** Everything but the items: kind, version and a token of some hundred bytes. */
const MAX_FRAME_BYTES = 256 * 1024;
/** The text before the items; blanks may precede its last two characters. */
const ITEMS_KEY = Buffer.from('"items":[');
const FIRST_AFTER_BLANKS = ITEMS_KEY.length - 3;
const BLANKS: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n'));

/**
 * Finds the items of a list in a stream of bytes and parses each alone: a list of any length costs the
 * memory of its largest item, and one that is too large is passed over. The bytes around the items, the frame, are a
 * list without items, which is parsed at the end; so a cut body, or one that is no list, is noticed.
 */
export class ItemReader {
  readonly #kind: string;
  readonly #item: JsonText;
  readonly #frame = new Frame();
  #isInItems = false;
  #hasItems = false;
  /** Braces and brackets that are open: in all, or in the current item. */
  #depth = 0;
  #isInString = false;
  /** Bytes at the beginning of the next chunk that a backslash precedes. */
  #escapedBytes = 0;

  /** `kind` is that of the list, as `ServiceList`. */
  constructor(kind: string, maxItemBytes?: number) {
    this.#kind = kind;
    this.#item = new JsonText('an item', maxItemBytes);
  }

  /**
   * Yields the items that end in this chunk; Unread for one that is too large. Throws a StreamError
   * (`garbled`) for one that is not JSON, and before the items of a list of another kind.
   */
  *push(chunk: Buffer): Generator {
    let start = 0;
    while (start < chunk.length) {
      const end = this.#scan(chunk, start);
      if (!this.#isInItems) {
        this.#frame.add(chunk.subarray(start, end + 1));
        if (end < chunk.length) this.#openArray();
        start = end + 1;
        continue;
      }
      this.#item.add(chunk.subarray(start, end));
      start = end;
      if (end === chunk.length) break;
      const item = this.#item.take();
      if (item !== undefined) yield item;
      if (chunk[end] === COMMA) start++;
      else this.#closeItems();
    }
  }

  /** Called at the end of the body. Throws a StreamError (`garbled`) when it was no complete list. */
  finish(): ListMeta {
    const { metadata, items } = this.#readFrame(this.#frame.text);
    const { resourceVersion, continue: next } = metadata ?? {};
    // Without these it may be anything, and would look like a list that deletes every object.
    if (typeof resourceVersion !== 'string' || resourceVersion === '') {
      throw new StreamError('garbled', 'the answer is not a list: it has no resourceVersion');
    }
    // Those that were read are not in the frame. Go writes an empty list as null, too.
    const hasNone = items === null || (Array.isArray(items) && items.length === 0);
    if (!hasNone) {
      throw new StreamError('garbled', 'the answer is not a list: it has no items');
    }
    return { resourceVersion, continue: typeof next === 'string' ? next : '' };
  }

  /** The list of this text, if it is of the right kind: a server may leave that out. */
  #readFrame(text: string): ListFrame {
    const frame = (parseJson(text, 'the list') ?? {}) as ListFrame;
    const { kind } = frame;
    if (kind === undefined || kind === this.#kind) return frame;
    const reason = `the answer is of kind ${shownValue(kind)}, not ${this.#kind}`;
    throw new StreamError('garbled', reason);
  }

  /** An array begins below the list: that of the items, or another. */
  #openArray(): void {
    this.#isInItems = this.#frame.endsWithItemsKey();
    this.#depth = this.#isInItems ? 0 : 2;
    if (!this.#isInItems) return;
    if (this.#hasItems) throw new StreamError('garbled', 'the list has its items twice');
    this.#hasItems = true;
    this.#readFrame(`${this.#frame.text}]}`);
  }

  #closeItems(): void {
    this.#isInItems = false;
    this.#depth = 2;
  }

  /**
   * The offset of the next relevant byte: outside of the items the bracket that opens an array of the list,
   * inside of them the byte that ends an item. The chunk's length when there is none.
   */
  #scan(chunk: Buffer, start: number): number {
    const isInItems = this.#isInItems;
    const { length } = chunk;
    let depth = this.#depth;
    let isInString = this.#isInString;
    let at = start + this.#escapedBytes;
    for (; at < length; at++) {
      if (isInString) {
        // A loop of its own: most bytes of a list are in strings, and up to 1 GiB passes here.
        for (let byte = chunk[at]!; byte !== QUOTE; byte = chunk[at]!) {
          at += byte === BACKSLASH ? 2 : 1;
          if (at >= length) break;
        }
        if (at >= length) break;
        isInString = false;
        continue;
      }
      const byte = chunk[at]!;
      if (byte === QUOTE) {
        isInString = true;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (!isInItems && depth === 1 && byte === OPEN_BRACKET) break;
        depth++;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (isInItems && depth === 0) break;
        depth--;
      } else if (byte === COMMA && isInItems && depth === 0) {
        break;
      }
    }
    this.#depth = depth;
    this.#isInString = isInString;
    // A backslash at the end of the chunk: the first byte of the next one is not a quote.
    this.#escapedBytes = Math.max(at - length, 0);
    return Math.min(at, length);
  }
}

/** The bytes around the items. */
class Frame {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  get text(): string {
    return Buffer.concat(this.#pieces).toString('utf8');
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes <= MAX_FRAME_BYTES) return;
    throw new StreamError('garbled', `what is around the items exceeds ${MAX_FRAME_BYTES} bytes`);
  }

  /**
   * Whether the key of the items precedes the bracket that was added last. Reads from the end: a list may
   * have any number of other arrays.
   */
  endsWithItemsKey(): boolean {
    let wanted = ITEMS_KEY.length - 1;
    for (let i = this.#pieces.length - 1; i >= 0; i--) {
      const piece = this.#pieces[i]!;
      for (let at = piece.length - 1; at >= 0; at--) {
        const byte = piece[at]!;
        if (byte === ITEMS_KEY[wanted]) {
          if (wanted-- === 0) return true;
        } else if (!BLANKS.has(byte) || !mayFollowBlanks(wanted)) return false;
      }
    }
    return false;
  }
}

/** Whether blanks may follow this character of the key. */
function mayFollowBlanks(at: number): boolean {
  return at >= FIRST_AFTER_BLANKS && at < ITEMS_KEY.length - 1;
}

/** What the beginning of an object's text tells: its kind, as `Service`, which objects of a list do not have. */
interface ObjectHead extends ApiObject {
  readonly kind: string | undefined;
}

/** A string, with the colon after it when it is a key; a bracket; or the quote of a string that is cut. */
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|["{}[\]]/g;
/** The metadata of an event's object are that deep. */
const MAX_DEPTH = 3;

/**
 * Reads the beginning of the JSON text of an object, or of an event with one, as far as it goes. The API
 * server writes kind and metadata first, and name, namespace and version before what can be large.
 */
export function readObjectHead(text: string): ObjectHead {
  const found = new Map<string, string>();
  const path: string[] = [];
  let key = '';
  for (const [token, string, colon] of text.matchAll(TOKENS)) {
    if (token === '"') break;
    if (string === undefined) {
      if (token === '{' || token === '[') path.push(key);
      else path.pop();
    } else if (path.length > MAX_DEPTH) continue;
    else if (colon !== undefined) key = unquote(string);
    else found.set([...path.slice(1), key].join('.'), unquote(string));
  }
  const prefix = found.has('type') ? 'object.' : '';
  const metadata: Record<string, string> = {};
  for (const field of ['namespace', 'name', 'resourceVersion']) {
    const value = found.get(`${prefix}metadata.${field}`);
    if (value !== undefined) metadata[field] = value;
  }
  return { kind: found.get(`${prefix}kind`), metadata };
}

function unquote(string: string): string {
  try {
    return JSON.parse(string) as string;
  } catch {
    return ''; // an escape that is none: no name of the API has one
  }
}

const MAX_CHARACTERS = 40;

/** A value of a server as JSON, cut, for the log. */
export function shownValue(value: unknown): string {
  return JSON.stringify(value).slice(0, MAX_CHARACTERS);
}
