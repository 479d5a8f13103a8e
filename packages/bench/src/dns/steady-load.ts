import type { Socket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';
import { connectUdp, monotonicMs, sendQuietly, type Spread, spreadOf } from '@kube-dns/testkit';
import { RCODE_MASK, writeUint16 } from '@kube-dns/wire';
import { Asked, type Expectation, messageId, Ticker } from './expectation.js';

/** The results of a load. */
export interface LoadResult {
  readonly sent: number;
  readonly right: number;
  /** Answers with another rcode or without the record. */
  readonly wrong: number;
  /** Queries without any answer. */
  readonly missing: number;
  /** Time to the right answers, in ms. */
  readonly answerMs: Spread;
  readonly ownDelayMs: Spread;
  /** A few of the wrong answers, as text. */
  readonly examples: readonly string[];
}

/** The methods of a load in its own process. */
export interface SteadyLoadMethods {
  /**
   * Asks these questions in turn from now on, `rate` of them each second: all of them a server at one address (default: at
   * 127.0.0.1), then the next one. With `clients` each question is one of the next of these addresses, to 127.0.0.1.
   */
  start(
    port: number,
    rate: number,
    expectations: readonly Expectation[],
    addresses?: readonly string[],
    clients?: readonly string[],
  ): Promise<void>;
  /** Ends the load, waits for outstanding answers, and returns the results. */
  finish(): Promise<LoadResult>;
}

const TICK_MS = 2;
const MAX_IDS = 0x1_0000;
/** Waited for where answers are missing: long beside a moment in which the server has no CPU time. */
const TIMEOUT_MS = 10_000;
const STEP_MS = 20;
const MAX_EXAMPLES = 5;
const FREE = -1;

/** A fixed number of queries each second, each answer compared with the right one. */
export class SteadyLoad implements SteadyLoadMethods {
  #asked: readonly Asked[] = [];
  #names: readonly string[] = [];
  /** The question of each ID whose answer is outstanding. */
  readonly #question = new Int32Array(MAX_IDS).fill(FREE);
  readonly #sentMs = new Float64Array(MAX_IDS);
  #sockets: readonly Socket[] = [];
  #isByClient = false;
  #ticker: Ticker | undefined;
  #startMs = 0;
  #sent = 0;
  #wrong = 0;
  #answersMs: number[] = [];
  #examples: string[] = [];

  async start(
    port: number,
    rate: number,
    expectations: readonly Expectation[],
    addresses: readonly string[] = ['127.0.0.1'],
    clients: readonly string[] = [],
  ): Promise<void> {
    this.#asked = expectations.map((expectation) => new Asked(expectation));
    this.#names = expectations.map(({ name, type }) => `${name} ${type}`);
    const onMessage = (message: Buffer) => this.#receive(message);
    this.#isByClient = clients.length > 0;
    this.#sockets = await Promise.all(
      this.#isByClient
        ? clients.map((client) => connectUdp(port, onMessage, '127.0.0.1', client))
        : addresses.map((address) => connectUdp(port, onMessage, address)),
    );
    this.#startMs = monotonicMs();
    this.#ticker = new Ticker(TICK_MS, (nowMs) => {
      const due = Math.floor(((nowMs - this.#startMs) * rate) / 1_000);
      while (this.#sent < due) this.#ask(nowMs);
    });
  }

  async finish(): Promise<LoadResult> {
    const ownDelayMs = spreadOf(this.#ticker?.takeDelays() ?? []);
    this.#ticker?.close();
    const endMs = monotonicMs() + TIMEOUT_MS;
    while (this.#right + this.#wrong < this.#sent && monotonicMs() < endMs) await delay(STEP_MS);
    for (const socket of this.#sockets) socket.close();
    return {
      sent: this.#sent,
      right: this.#right,
      wrong: this.#wrong,
      missing: this.#sent - this.#right - this.#wrong,
      answerMs: spreadOf(this.#answersMs),
      ownDelayMs,
      examples: this.#examples,
    };
  }

  get #right(): number {
    return this.#answersMs.length;
  }

  #ask(nowMs: number): void {
    const question = this.#sent % this.#asked.length;
    const turns = this.#isByClient ? this.#sent : Math.floor(this.#sent / this.#asked.length);
    const id = this.#sent % MAX_IDS;
    this.#sent++;
    this.#question[id] = question;
    this.#sentMs[id] = nowMs;
    const query = Buffer.from(this.#asked[question]!.query);
    writeUint16(query, 0, id);
    sendQuietly(this.#sockets[turns % this.#sockets.length]!, query);
  }

  #receive(message: Buffer): void {
    const id = messageId(message);
    const question = this.#question[id] ?? FREE;
    if (question === FREE) return;
    const asked = this.#asked[question]!;
    if (!asked.isAnsweredBy(message)) return;
    this.#question[id] = FREE;
    if (asked.isRight(message)) {
      this.#answersMs.push(monotonicMs() - this.#sentMs[id]!);
      return;
    }
    this.#wrong++;
    if (this.#examples.length < MAX_EXAMPLES) {
      this.#examples.push(`${this.#names[question]!}: rcode ${message[3]! & RCODE_MASK}`);
    }
  }
}
