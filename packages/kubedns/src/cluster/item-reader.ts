import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '@kube-dns/base';
import { StreamError } from '../errors.js';
import { JsonText, parseJson } from './json-text.js';
import { shownValue } from './shown-value.js';

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
 * memory of its largest item, and one that is too large is passed over. The bytes around the items, the frame, are a list without items, which is
 * parsed at the end; so a cut body, or one that is no list, is noticed.
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
