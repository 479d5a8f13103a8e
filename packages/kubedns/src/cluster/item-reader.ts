import { errorText } from '@kube-dns/daemon';
import { StreamError } from '../errors.js';

/** What the `metadata` of a list says. */
export interface ListMeta {
  readonly resourceVersion: string;
  /** Asks for the next page; empty on the last. */
  readonly continue: string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** More than any object of the API may have (etcd stops at 1.5 MiB). */
const MAX_ITEM_BYTES = 8 * 1024 * 1024;
/** What is not items: kind, version and a token of some hundred bytes. */
const MAX_FRAME_BYTES = 256 * 1024;
/** What stands before the items, with blanks before its last two characters. */
const ITEMS_KEY = Buffer.from('"items":[');
const FIRST_AFTER_BLANKS = ITEMS_KEY.length - 3;
const BLANKS: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n'));

/**
 * Finds the items of a list in its bytes as they come, and parses each alone: a list of any length
 * costs the memory of its largest item. The bytes around the items, the frame, are a list without
 * items, which is parsed in the end; so a body that was cut or is something else is noticed.
 */
export class ItemReader {
  readonly #item: Pieces;
  readonly #frame = new Pieces('what is around the items', MAX_FRAME_BYTES);
  #isInItems = false;
  /** Braces and brackets that are open: in all, or of the item under way. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  constructor(maxItemBytes = MAX_ITEM_BYTES) {
    this.#item = new Pieces('an item', maxItemBytes);
  }

  /** The items that end in this piece. Throws a StreamError (`garbled`) at one that is no JSON. */
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
      const text = this.#item.take();
      if (text.trim() !== '') yield parse(text, 'an item is no JSON');
      if (chunk[end] === COMMA) start++;
      else this.#closeItems();
    }
  }

  /** Called at the end of the body. Throws a StreamError (`garbled`) when that was no whole list. */
  finish(): ListMeta {
    const list = parse(this.#frame.take(), 'the list is no JSON') as {
      metadata?: { resourceVersion?: unknown; continue?: unknown };
    } | null;
    const { resourceVersion, continue: next } = list?.metadata ?? {};
    // Without it this may be anything, and would be taken for the end of every object.
    if (typeof resourceVersion !== 'string' || resourceVersion === '') {
      throw new StreamError('garbled', 'the answer is no list: it has no resourceVersion');
    }
    return { resourceVersion, continue: typeof next === 'string' ? next : '' };
  }

  /** An array begins below the list: that of the items, or another. */
  #openArray(): void {
    this.#isInItems = this.#frame.endsWithItemsKey();
    this.#depth = this.#isInItems ? 0 : 2;
  }

  #closeItems(): void {
    this.#isInItems = false;
    this.#depth = 2;
  }

  /**
   * The place of the next byte that matters: outside of the items the bracket that opens an array of the
   * list, inside of them what ends an item. The chunk's length where there is none.
   */
  #scan(chunk: Buffer, start: number): number {
    const isInItems = this.#isInItems;
    let depth = this.#depth;
    let isInString = this.#isInString;
    let isEscaped = this.#isEscaped;
    let at = start;
    for (; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isInString = false;
      } else if (byte === QUOTE) {
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
    this.#isEscaped = isEscaped;
    return at;
  }
}

/** Bytes that belong together, up to a limit. */
class Pieces {
  readonly #what: string;
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(what: string, maxBytes: number) {
    this.#what = what;
    this.#maxBytes = maxBytes;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes <= this.#maxBytes) return;
    throw new StreamError('garbled', `${this.#what} exceeds ${this.#maxBytes} bytes`);
  }

  take(): string {
    const bytes = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    return bytes.toString('utf8');
  }

  /**
   * Whether the key of the items stands before the bracket that was added last. Read from the end: a list
   * may have as many other arrays as fit.
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

/** Whether blanks may stand behind this character of the key. */
function mayFollowBlanks(at: number): boolean {
  return at >= FIRST_AFTER_BLANKS && at < ITEMS_KEY.length - 1;
}

function parse(text: string, problem: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StreamError('garbled', `${problem}: ${errorText(cause)}`, { cause });
  }
}
