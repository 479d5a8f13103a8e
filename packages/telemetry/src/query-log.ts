import { constants, fstatSync, openSync, write } from 'node:fs';
import { isatty } from 'node:tty';
import { QUERY_LOG_OFF, type QueryLogRules } from '@kube-dns/daemon';
import { isInZone } from '@kube-dns/wire';
import { AnswerFacts, classOf, JsonLines, LineWriter, putTextLine } from './lines.js';
import type { ObservedAnswer, QuerySink } from './observed-answer.js';

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

interface QueryLogOptions {
  /** Made when the first line is written. */
  readonly createOutput: () => BlockOutput;
  /** Milliseconds since the epoch; `Date.now()` unless given. */
  readonly now?: () => number;
  /** From 0 to 1; `Math.random()` unless given. */
  readonly random?: () => number;
}

/** Writes a line for each answer that its rules want. Lines wait in a ring and are written in blocks: no answer waits for a reader. */
export class QueryLog implements QuerySink {
  /** Lines that were not written because the reader was too slow, or had gone. */
  dropped = 0;
  /** Those of them that still waited at the end. */
  droppedAtEnd = 0;
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
  #isWriting = false;
  #isDue = false;
  #mostBytes = DUE_BYTES;
  /** What was due when a block was written last, and still waits. */
  #dueBytes = 0;
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

  /** Obeys these rules from now on; lines that wait are written all the same. */
  use(rules: QueryLogRules): void {
    this.#rules = rules;
    if (rules.format === 'off' || this.#output !== undefined) return;
    this.#output = this.#createOutput();
    this.#mostBytes = Math.max(DUE_BYTES, this.#output.blockBytes);
    this.#ring = new LineRing(RING_BYTES);
  }

  answered(answer: ObservedAnswer): void {
    if (!this.#wants(answer)) return;
    const at = this.#isOver ? -1 : this.#ring.reserve(MAX_LINE_BYTES);
    if (at < 0) {
      this.dropped++;
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

  /** Resolves when the lines that wait are written, or after a second: what waits then is dropped. */
  async close(): Promise<void> {
    if (this.#ring.waitingBytes === 0) return;
    clearTimeout(this.#timer);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.droppedAtEnd = this.#end();
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
      if (isInZone(query.name, query.nameLength, name)) return true;
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
    const waiting = this.#waitingLines();
    this.#accepted -= waiting;
    this.dropped += waiting;
    this.#ring = new LineRing(0);
    return waiting;
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

/**
 * Lines that wait to be written, in bounded memory. Each is in one piece, and so is what is taken:
 *
 *     |  next lines  |  free  |  lines that were written first  |  unused  |
 *     0              head     tail                              end
 *
 * Before it wraps, the lines are those from tail to head. A line that may not fit the end starts at 0.
 */
export class LineRing {
  readonly bytes: Uint8Array;
  readonly #capacity: number;
  #head = 0;
  #tail = 0;
  #end = 0;
  #isWrapped = false;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
    this.#capacity = capacity;
  }

  /** Where a line of up to `maxBytes` may be written now, to be followed by `commit`; -1 when it is too full. */
  reserve(maxBytes: number): number {
    const end = this.#head + maxBytes;
    if (this.#isWrapped) return end <= this.#tail ? this.#head : -1;
    if (end <= this.#capacity) return this.#head;
    if (maxBytes > this.#tail) return -1;
    this.#end = this.#head;
    this.#head = 0;
    this.#isWrapped = true;
    return 0;
  }

  /** The line that was reserved ends here. */
  commit(end: number): void {
    this.#head = end;
  }

  /** All bytes that wait. */
  get waitingBytes(): number {
    return this.#isWrapped ? this.#end - this.#tail + this.#head : this.#head - this.#tail;
  }

  /** Where the first bytes that wait begin, and how many are in one piece from there. */
  get start(): number {
    return this.#tail;
  }

  get pieceBytes(): number {
    return (this.#isWrapped ? this.#end : this.#head) - this.#tail;
  }

  /** All that waits. */
  pieces(): readonly Uint8Array[] {
    const first = this.bytes.subarray(this.#tail, this.#tail + this.pieceBytes);
    return this.#isWrapped ? [first, this.bytes.subarray(0, this.#head)] : [first];
  }

  /** The first `count` bytes have been written; no more than a piece. */
  release(count: number): void {
    this.#tail += count;
    if (this.#isWrapped && this.#tail === this.#end) {
      this.#tail = 0;
      this.#isWrapped = false;
    }
    if (!this.#isWrapped && this.#tail === this.#head) this.#tail = this.#head = 0;
  }
}

/** Where blocks of lines go. It never blocks the event loop, nor the end of the process. */
export interface BlockOutput {
  /** As much as it takes at once. */
  readonly blockBytes: number;
  /**
   * Writes the bytes from `start` to `end`, which do not change meanwhile. Calls `done` later, with how many of them are
   * written: 0 for none yet, -1 when none will be any more because the reader is gone.
   */
  write(bytes: Uint8Array, start: number, end: number, done: (written: number) => void): void;
}

const STDOUT = 1;
const FILE_BLOCK_BYTES = 64 * 1024;
/** A pipe takes all of this or nothing (PIPE_BUF, pipe(7)): no line is torn when its reader stops. */
const WHOLE_PIPE_BYTES = 4_096;
/** A terminal whose output is stopped has no event for when it goes on. */
const FULL_PAUSE_MS = 20;
/** Such as a full disk: what is dropped meanwhile is counted. */
const FAILED_PAUSE_MS = 1_000;

/**
 * The standard output of the process. A pipe or a socket is written as Node does, when it has room. Any other is written in
 * a thread of the pool, which the end of the process waits for: a terminal, which can be stopped, therefore in a way that
 * does not wait.
 */
export function stdoutOutput(): BlockOutput {
  const kind = fstatSync(STDOUT);
  if (kind.isFIFO() || kind.isSocket()) return streamOutput(process.stdout);
  return descriptorOutput(isatty(STDOUT) ? openTerminal() : STDOUT);
}

/** Opened again, as others that have this terminal open must not get EAGAIN. */
function openTerminal(): number {
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync(`/proc/self/fd/${STDOUT}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return STDOUT; // of another user, who has to let it go on
  }
}

/** A stream that does not block, such as that of a pipe. */
function streamOutput(stream: NodeJS.WriteStream): BlockOutput {
  stream.on('error', () => {
    /* such as EPIPE: `done` gets it, too */
  });
  return {
    blockBytes: WHOLE_PIPE_BYTES,
    write: (bytes, start, end, done) => {
      stream.write(bytes.subarray(start, end), (error) => {
        done(error === undefined || error === null ? end - start : -1);
      });
    },
  };
}

/** A file, or what else is open as this descriptor. */
function descriptorOutput(descriptor: number): BlockOutput {
  return {
    blockBytes: FILE_BLOCK_BYTES,
    write: (bytes, start, end, done) => {
      write(descriptor, bytes, start, end - start, null, (error, written) => {
        if (error === null) done(written);
        else setTimeout(done, error.code === 'EAGAIN' ? FULL_PAUSE_MS : FAILED_PAUSE_MS, 0).unref();
      });
    },
  };
}
