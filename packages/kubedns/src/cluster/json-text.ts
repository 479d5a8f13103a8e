import { errorText, JsonShape } from '@kube-dns/base';
import { StreamError } from '../errors.js';

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
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StreamError('garbled', `${what} is not JSON: ${errorText(cause)}`, { cause });
  }
}
