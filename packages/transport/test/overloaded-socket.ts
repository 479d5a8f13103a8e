import { BPF, FROM_NETWORK, RANDOM_NUMBER, type SourceFilter } from '../src/batch/source-filter.js';
import { type LimitedPort, MEMORY, type ReceiveBuffer } from '../src/batch/source-limits.js';

type Filter = Pick<SourceFilter, 'bytes' | 'length'>;

const INSTRUCTION_BYTES = 8;
/** Of the source in the headers of IPv4 and IPv6. */
const SOURCE_AT = { ipv4: 12, ipv6: 8 } as const;

/** A filter as the kernel runs it: it is read once, since it runs for each datagram. */
class Program {
  /** Of each instruction four numbers: the opcode, the two short jumps, and a number. */
  readonly #words: Uint32Array;
  /** Where the source is, whose two words it may load. */
  readonly #start: number;
  readonly #random: () => number;

  constructor({ bytes, length }: Filter, isIpv6: boolean, random: () => number) {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    this.#words = new Uint32Array(4 * length);
    for (let at = 0; at < length; at++) {
      const place = at * INSTRUCTION_BYTES;
      this.#words[4 * at] = view.getUint16(place, true);
      this.#words[4 * at + 1] = view.getUint8(place + 2);
      this.#words[4 * at + 2] = view.getUint8(place + 3);
      this.#words[4 * at + 3] = view.getUint32(place + 4, true);
    }
    this.#start = FROM_NETWORK + (isIpv6 ? SOURCE_AT.ipv6 : SOURCE_AT.ipv4);
    this.#random = random;
  }

  run(source: readonly [first: number, second: number]): number {
    const words = this.#words;
    let a = 0;
    let x = 0;
    for (let at = 0; at < words.length; at += 4) {
      const ifTrue = words[at + 1]!;
      const ifFalse = words[at + 2]!;
      const number = words[at + 3]!;
      switch (words[at]) {
        case BPF.RETURN:
          return number;
        case BPF.JUMP:
          at += 4 * number;
          break;
        case BPF.IF_EQUAL:
          at += 4 * (a === number ? ifTrue : ifFalse);
          break;
        case BPF.IF_GREATER:
          at += 4 * (a > number ? ifTrue : ifFalse);
          break;
        case BPF.IF_GREATER_OR_EQUAL:
          at += 4 * (a >= number ? ifTrue : ifFalse);
          break;
        case BPF.MULTIPLY:
          a = Math.imul(a, number) >>> 0;
          break;
        case BPF.TO_X:
          x = a;
          break;
        case BPF.XOR_X:
          a = (a ^ x) >>> 0;
          break;
        case BPF.LOAD_WORD:
          a = this.#load(number | 0, source);
          break;
        default:
          throw new Error(`no such opcode: ${words[at]}`);
      }
    }
    throw new Error('the program has no end');
  }

  #load(from: number, source: readonly [first: number, second: number]): number {
    if (from === RANDOM_NUMBER) return this.#random() >>> 0;
    if (from === this.#start) return source[0] >>> 0;
    if (from === this.#start + 4) return source[1] >>> 0;
    throw new Error(`no such load: ${from}`);
  }
}

/** What a filter returns for a datagram whose source address starts with these numbers. */
export function runFilter(
  filter: Filter,
  source: readonly [first: number, second: number],
  isIpv6: boolean,
  random: () => number,
): number {
  return new Program(filter, isIpv6, random).run(source);
}

/** Numbers of 32 bits that are the same in each run (Marsaglia's xorshift). */
export function seededRandom(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** Memory that a short datagram takes in a socket. */
const DATAGRAM_BYTES = 768;

/** A datagram that waits in the socket. */
export interface Waiting {
  readonly source: readonly [first: number, second: number];
  readonly atMs: number;
}

/** A queue of a socket in a kernel of the test: what finds no room is dropped. */
class Queue implements ReceiveBuffer {
  readonly #wholeRoom: number;
  #room: number;
  /** It wraps in each test. */
  dropped = 0xffff_ff00;
  readonly waiting: Waiting[] = [];

  constructor(room: number) {
    this.#room = this.#wholeRoom = room;
  }

  get hasWholeRoom(): boolean {
    return this.#room === this.#wholeRoom;
  }

  push(datagram: Waiting, passes: boolean): void {
    if (passes && this.waiting.length < this.#room) this.waiting.push(datagram);
    else this.dropped = (this.dropped + 1) >>> 0;
  }

  readMemory(into: Uint32Array): boolean {
    into[MEMORY.QUEUED_BYTES] = this.waiting.length * DATAGRAM_BYTES;
    into[MEMORY.BUFFER_BYTES] = this.#room * DATAGRAM_BYTES;
    into[MEMORY.DROPPED] = this.dropped;
    return true;
  }

  setBytes(bytes: number | undefined): void {
    this.#room = bytes === undefined ? this.#wholeRoom : Math.floor(bytes / DATAGRAM_BYTES);
  }
}

/** A UDP port in a kernel of the test, with one socket or two. */
export class OverloadedPort implements LimitedPort {
  readonly isIpv6: boolean;
  readonly buffer: Queue;
  readonly others: Queue | undefined;
  readonly #random: () => number;
  readonly #maxInstructions: number;
  #filter: Program | undefined;
  #choice: Program | undefined;
  /** Programs that were attached, and how many of them were refused for their length. */
  attached = 0;
  refused = 0;

  constructor(options: {
    readonly room: number;
    readonly hasTwoSockets: boolean;
    readonly random: () => number;
    readonly isIpv6?: boolean;
    readonly maxInstructions?: number;
  }) {
    this.isIpv6 = options.isIpv6 ?? false;
    this.buffer = new Queue(options.room);
    this.others = options.hasTwoSockets ? new Queue(options.room) : undefined;
    this.#random = options.random;
    this.#maxInstructions = options.maxInstructions ?? 4_096;
  }

  get hasFilter(): boolean {
    return this.#filter !== undefined;
  }

  get hasWholeRoom(): boolean {
    return this.buffer.hasWholeRoom;
  }

  arrive(datagram: Waiting): void {
    const isOther = this.#choice?.run(datagram.source) === (this.isIpv6 ? 1 : 0);
    if (isOther) this.others!.push(datagram, true);
    else this.buffer.push(datagram, this.#filter?.run(datagram.source) !== 0);
  }

  attach(filter: SourceFilter, choice: SourceFilter): boolean {
    if (filter.length > this.#maxInstructions) {
      this.refused++;
      return false;
    }
    this.attached++;
    this.#filter = new Program(filter, this.isIpv6, this.#random);
    if (this.others !== undefined) this.#choice = new Program(choice, this.isIpv6, this.#random);
    return true;
  }

  detach(): void {
    this.#filter = this.#choice = undefined;
  }
}
