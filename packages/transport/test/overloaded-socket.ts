import { BPF, FROM_NETWORK, RANDOM_NUMBER, type SourceFilter } from '../src/batch/source-filter.js';
import { type LimitedPort, MEMORY, type ReceiveBuffer } from '../src/batch/source-limits.js';

const INSTRUCTION_BYTES = 8;
/** Of the source in the headers of IPv4 and IPv6. */
const SOURCE_AT = { ipv4: 12, ipv6: 8 } as const;

/** What a filter returns for a datagram whose source address starts with these numbers, as the kernel runs it. */
export function runFilter(
  { bytes, length }: Pick<SourceFilter, 'bytes' | 'length'>,
  source: readonly [first: number, second: number],
  isIpv6: boolean,
  random: () => number,
): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const start = FROM_NETWORK + (isIpv6 ? SOURCE_AT.ipv6 : SOURCE_AT.ipv4);
  let a = 0;
  let x = 0;
  for (let at = 0; at < length; at++) {
    const place = at * INSTRUCTION_BYTES;
    const opcode = view.getUint16(place, true);
    const ifTrue = view.getUint8(place + 2);
    const ifFalse = view.getUint8(place + 3);
    const number = view.getUint32(place + 4, true);
    if (opcode === BPF.RETURN) return number;
    else if (opcode === BPF.JUMP) at += number;
    else if (opcode === BPF.IF_EQUAL) at += a === number ? ifTrue : ifFalse;
    else if (opcode === BPF.IF_GREATER) at += a > number ? ifTrue : ifFalse;
    else if (opcode === BPF.IF_GREATER_OR_EQUAL) at += a >= number ? ifTrue : ifFalse;
    else if (opcode === BPF.MULTIPLY) a = Math.imul(a, number) >>> 0;
    else if (opcode === BPF.TO_X) x = a;
    else if (opcode === BPF.XOR_X) a = (a ^ x) >>> 0;
    else if (opcode !== BPF.LOAD_WORD) throw new Error(`no such opcode: ${opcode}`);
    else if ((number | 0) === RANDOM_NUMBER) a = random() >>> 0;
    else if ((number | 0) === start) a = source[0] >>> 0;
    else if ((number | 0) === start + 4) a = source[1] >>> 0;
    else throw new Error(`no such load: ${number | 0}`);
  }
  throw new Error('the program has no end');
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

type Program = Pick<SourceFilter, 'bytes' | 'length'>;

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
    const returned = (program: Program) =>
      runFilter(program, datagram.source, this.isIpv6, this.#random);
    const isOther = this.#choice !== undefined && returned(this.#choice) === 1;
    if (isOther) this.others!.push(datagram, true);
    else this.buffer.push(datagram, this.#filter === undefined || returned(this.#filter) > 0);
  }

  attach(filter: SourceFilter, choice: SourceFilter): boolean {
    if (filter.length > this.#maxInstructions) {
      this.refused++;
      return false;
    }
    this.attached++;
    this.#filter = { bytes: filter.bytes.slice(), length: filter.length };
    if (this.others !== undefined)
      this.#choice = { bytes: choice.bytes.slice(), length: choice.length };
    return true;
  }

  detach(): void {
    this.#filter = this.#choice = undefined;
  }
}
