import { expandName, lowerCaseByte } from './name.js';
import { MAX_NAME_BYTES } from './protocol.js';

/**
 * So many times the owner may change from one record of a message to the next, all reads of the message together: an honest
 * answer has the names of its CNAMEs, the zone and the name servers.
 */
const MAX_CHANGES = 1_024;
const NO_MESSAGE = new Uint8Array(0);

/**
 * The owner names of the records of a message. One that is written as the one before is not read again, so thousands of
 * records that point to one name cost as much as one; and a message whose owners change often, which would have each of
 * them walk through long names and chains of pointers, is malformed.
 */
export class OwnerNames {
  /** The last one, with its case or lower-cased; valid up to the length that `read` returned. */
  readonly name = new Uint8Array(MAX_NAME_BYTES);
  /** Whether the last one is that of the read before. */
  isSame = false;
  readonly #isLowerCased: boolean;
  #message: Uint8Array = NO_MESSAGE;
  #start = 0;
  #bytes = 0;
  #length = -1;
  #changes = 0;

  constructor(isLowerCased: boolean) {
    this.#isLowerCased = isLowerCased;
  }

  /** Begins with a message. */
  reset(message: Uint8Array): void {
    this.#message = message;
    this.#bytes = 0;
    this.#changes = 0;
  }

  /** Reads the owner that is written from `start` to `end`; returns its length, or -1 when it is malformed. */
  read(start: number, end: number): number {
    this.isSame = this.#isAsBefore(start, end);
    if (this.isSame) return this.#length;
    const message = this.#message;
    const isBounded = ++this.#changes <= MAX_CHANGES;
    const length = isBounded ? expandName(message, start, message.length, this.name) : -1;
    if (this.#isLowerCased) {
      for (let i = 0; i < length; i++) this.name[i] = lowerCaseByte(this.name[i]!);
    }
    this.#start = start;
    this.#bytes = end - start;
    this.#length = length;
    return length;
  }

  #isAsBefore(start: number, end: number): boolean {
    const bytes = end - start;
    if (bytes !== this.#bytes) return false;
    for (let i = 0; i < bytes; i++) {
      if (this.#message[start + i] !== this.#message[this.#start + i]) return false;
    }
    return true;
  }
}
