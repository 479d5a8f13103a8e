import { QUERY_LOG_OFF, type QueryLogRules } from '@kube-dns/daemon';
import { suffixOffset } from '@kube-dns/wire';
import type { AnswerSink, ObservedAnswer } from '../observed-answer.js';
import { AnswerFacts, classOf } from './answer-facts.js';
import type { BlockOutput } from './block-output.js';
import { JsonLines } from './json-line.js';
import { LineRing } from './line-ring.js';
import { LineWriter } from './line-writer.js';
import { putTextLine } from './text-line.js';

/** What waits for a reader that is slow; lines beyond it are dropped. */
const RING_BYTES = 1024 * 1024;
/** The longest line, of a name of 255 octets that are all escaped, is shorter. A block has one at least. */
export const MAX_LINE_BYTES = 4_096;
/** So many are written without waiting for more, and no more in one turn of the loop, unless the output takes larger blocks. */
const DUE_BYTES = 16 * 1024;
/** The longest that a line waits for others. */
const BLOCK_MS = 20;
/** How long the end of the process waits for the reader. */
const LAST_BLOCKS_MS = 1_000;
const LINE_FEED = 0x0a;

export interface QueryLogOptions {
  /** Made when the first line is written. */
  readonly createOutput: () => BlockOutput;
  /** Milliseconds since the epoch; `Date.now()` unless given. */
  readonly now?: () => number;
  /** From 0 to 1; `Math.random()` unless given. */
  readonly random?: () => number;
}

/** Writes a line for each answer that its rules want. Lines wait in a ring and are written in blocks: no answer waits for a reader. */
export class QueryLog implements AnswerSink {
  readonly #createOutput: () => BlockOutput;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #line = new LineWriter();
  readonly #json = new JsonLines();
  readonly #facts = new AnswerFacts();
  #rules = QUERY_LOG_OFF;
  #ring = new LineRing(0);
  #output: BlockOutput | undefined;
  /** Lines that were put into the ring and are not dropped. */
  #accepted = 0;
  #dropped = 0;
  #isWriting = false;
  #isDue = false;
  #mostBytes = DUE_BYTES;
  /** What was due when a block was written last, and still waits. */
  #dueBytes = 0;
  #droppedAtEnd = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The reader is gone, or the end has come: nothing is written any more. */
  #isOver = false;
  #onEmpty: (() => void) | undefined;
  /** Has all written that waits now. */
  readonly #writeWaiting = (): void => {
    this.#isDue = false;
    this.#timer = undefined;
    if (this.#isWriting || this.#isOver) return;
    this.#dueBytes = Math.min(this.#ring.waitingBytes, this.#mostBytes);
    this.#writeBlock();
  };
  readonly #onWritten = (written: number): void => {
    this.#isWriting = false;
    if (this.#isOver) return;
    if (written < 0) this.#end();
    else {
      this.#ring.release(written);
      this.#dueBytes -= written;
    }
    if (this.#ring.waitingBytes === 0) this.#onEmpty?.();
    else if (this.#dueBytes > 0) this.#writeBlock();
    else if (this.#onEmpty !== undefined) this.#writeWaiting();
    else this.#wake();
  };

  constructor(options: QueryLogOptions) {
    this.#createOutput = options.createOutput;
    this.#now = options.now ?? Date.now;
    this.#random = options.random ?? Math.random;
  }

  /** Lines that were written. */
  get written(): number {
    return this.#accepted - this.#waitingLines();
  }

  /** Lines that were not written because the reader was too slow, or had gone. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Obeys these rules from now on; lines that wait are written all the same. */
  use(rules: QueryLogRules): void {
    this.#rules = rules;
    if (rules.format === 'off' || this.#output !== undefined) return;
    this.#output = this.#createOutput();
    this.#mostBytes = Math.max(DUE_BYTES, this.#output.blockBytes);
    this.#ring = new LineRing(RING_BYTES);
  }

  note(answer: ObservedAnswer): void {
    if (!this.#wants(answer)) return;
    const at = this.#isOver ? -1 : this.#ring.reserve(MAX_LINE_BYTES);
    if (at < 0) {
      this.#dropped++;
      return;
    }
    const line = this.#line;
    const facts = this.#facts;
    line.start(this.#ring.bytes, at);
    if (answer.length > 0) facts.read(answer.message, answer.length);
    else facts.errorCount = 0;
    if (this.#rules.format === 'json') this.#json.put(line, answer, facts, this.#now());
    else putTextLine(line, answer, facts);
    this.#ring.commit(line.at);
    this.#accepted++;
    this.#wake();
  }

  /** Those of them that still waited at the end. */
  get droppedAtEnd(): number {
    return this.#droppedAtEnd;
  }

  /** Resolves when the lines that wait are written, or after a second: what waits then is dropped. */
  async close(): Promise<void> {
    if (this.#ring.waitingBytes === 0) return;
    clearTimeout(this.#timer);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#droppedAtEnd = this.#end();
        resolve();
      }, LAST_BLOCKS_MS);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#writeWaiting();
    });
  }

  #wants({ query, message, length, startedMs, endedMs }: ObservedAnswer): boolean {
    const { classes, names, sample, slowMs } = this.#rules;
    const answerClass = classOf(message, length);
    if (answerClass === 'error' || endedMs - startedMs >= slowMs) return true;
    if (!classes.has(answerClass)) return false;
    // Not each Nth: clients ask in turns, for A and AAAA, and along a search path.
    if (sample > 1 && this.#random() * sample >= 1) return false;
    if (names.length === 0) return true;
    for (const name of names) {
      if (suffixOffset(query.name, query.nameLength, name) >= 0) return true;
    }
    return false;
  }

  /** Has the next block written, once it is large enough or a line has waited long enough. */
  #wake(): void {
    if (this.#isWriting || this.#isDue || this.#isOver) return;
    if (this.#ring.waitingBytes >= this.#mostBytes) {
      this.#isDue = true;
      setImmediate(this.#writeWaiting);
    } else this.#timer ??= setTimeout(this.#writeWaiting, BLOCK_MS).unref();
  }

  /** Writes whole lines, as many as the output takes at once. */
  #writeBlock(): void {
    const { start, pieceBytes, bytes } = this.#ring;
    if (pieceBytes === 0) return;
    const { blockBytes } = this.#output!;
    const end =
      pieceBytes <= blockBytes
        ? start + pieceBytes
        : bytes.lastIndexOf(LINE_FEED, start + blockBytes - 1) + 1;
    this.#isWriting = true;
    this.#output!.write(bytes, start, end, this.#onWritten);
  }

  /** Drops what waits, a line that is written in part included, and all that comes; returns how many lines. */
  #end(): number {
    this.#isOver = true;
    const lost = this.#waitingLines();
    this.#accepted -= lost;
    this.#dropped += lost;
    this.#ring = new LineRing(0);
    return lost;
  }

  #waitingLines(): number {
    let count = 0;
    for (const piece of this.#ring.pieces()) {
      for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1))
        count++;
    }
    return count;
  }
}
