import { monotonicMs } from '@kube-dns/testkit';
import {
  addressBytes,
  encodeName,
  encodeQuery,
  HEADER_BYTES,
  QUESTION_FIXED_BYTES,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  SECTION,
  skipName,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** A question, and what its answer must hold to be right. */
export interface Expectation {
  /** Without final dot. */
  readonly name: string;
  readonly type: 'A' | 'SRV' | 'PTR';
  /** An address, or the name of a PTR record, that must be among the records; unless given, any record will do. */
  readonly address?: string;
  readonly target?: string;
  /** The number of records; any unless given. */
  readonly count?: number;
  /** Default: NOERROR. */
  readonly rcode?: 'NOERROR' | 'NXDOMAIN';
}

/** OPT with a UDP payload size of 4,096 bytes. */
const OPT = Buffer.from('0000291000000000000000', 'hex');
const ADDITIONAL_COUNT_OFFSET = 10;
const QR = 0x80;

/** One question ready to be sent any number of times, and the check of its answers. */
export class Asked {
  /** The query, with EDNS; its ID is to be written by the sender. */
  readonly query: Buffer;
  readonly #questionEnd: number;
  readonly #type: number;
  readonly #rcode: number;
  readonly #rdata: Uint8Array | undefined;
  readonly #count: number | undefined;
  readonly #cursor = new RecordCursor();

  constructor({ name, type, address, target, count, rcode = 'NOERROR' }: Expectation) {
    const plain = encodeQuery({ id: 0, name, type });
    writeUint16(plain, ADDITIONAL_COUNT_OFFSET, 1);
    this.query = Buffer.concat([plain, OPT]);
    this.#questionEnd = skipName(plain, HEADER_BYTES, plain.length) + QUESTION_FIXED_BYTES;
    this.#type = TYPE[type];
    this.#rcode = RCODE[rcode];
    this.#count = count;
    if (address !== undefined) this.#rdata = addressBytes(address);
    if (target !== undefined) this.#rdata = encodeName(target);
  }

  /** Whether a message answers this question; the caller compares the ID. */
  isAnsweredBy(message: Buffer): boolean {
    const end = this.#questionEnd;
    return (
      message.length >= end &&
      (message[2]! & QR) !== 0 &&
      this.query.compare(message, HEADER_BYTES, end, HEADER_BYTES, end) === 0
    );
  }

  /** Whether a message is the answer that is expected: with the rcode, and for NOERROR with the record. */
  isRight(message: Buffer): boolean {
    if (!this.isAnsweredBy(message) || (message[3]! & RCODE_MASK) !== this.#rcode) return false;
    if (this.#rcode !== RCODE.NOERROR) return true;
    const cursor = this.#cursor.reset(message, message.length);
    const rdata = this.#rdata;
    let count = 0;
    let isThere = false;
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (cursor.type !== this.#type) continue;
      count++;
      isThere ||=
        rdata === undefined ||
        message.compare(rdata, 0, rdata.length, cursor.rdataStart, cursor.end) === 0;
    }
    return isThere && (this.#count === undefined || this.#count === count);
  }
}

/** The ID of a message, -1 when it is too short to have one. */
export function messageId(message: Buffer): number {
  return message.length < HEADER_BYTES ? -1 : readUint16(message, 0);
}

/**
 * Calls back at a fixed rate, and records how late each call is: how long this process could not run.
 * Missed calls are not repeated.
 */
export class Ticker {
  readonly #intervalMs: number;
  readonly #onTick: (nowMs: number) => void;
  #delaysMs: number[] = [];
  #dueMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(intervalMs: number, onTick: (nowMs: number) => void) {
    this.#intervalMs = intervalMs;
    this.#onTick = onTick;
    this.#dueMs = monotonicMs();
    this.#schedule();
  }

  /** The delays since the last call. */
  takeDelays(): readonly number[] {
    const delays = this.#delaysMs;
    this.#delaysMs = [];
    return delays;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    const nowMs = monotonicMs();
    this.#dueMs = Math.max(this.#dueMs + this.#intervalMs, nowMs);
    this.#timer = setTimeout(() => this.#tick(), this.#dueMs - nowMs);
  }

  #tick(): void {
    const nowMs = monotonicMs();
    this.#delaysMs.push(Math.max(0, nowMs - this.#dueMs));
    this.#onTick(nowMs);
    if (this.#timer !== undefined) this.#schedule();
  }
}
