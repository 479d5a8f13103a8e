import type { Socket } from 'node:dgram';
import { connectUdp, monotonicMs, sendQuietly, type Spread, spreadOf } from '@kube-dns/testkit';
import { writeUint16 } from '@kube-dns/wire';
import { Asked, messageId, Ticker } from './expectation.js';

/** Results since the last look. */
export interface ProbeWindow {
  /** Time from a query to its answer in ms, with any rcode. */
  readonly answerMs: Spread;
  /** Queries without an answer, while others that were sent long after them have theirs. */
  readonly lost: number;
  /** How late the probe itself was, in ms: an answer may have waited this long here. */
  readonly ownDelayMs: Spread;
  /** When the first answer of all came, on the monotonic clock. */
  readonly firstAnswerMs: number | undefined;
}

/** The methods of a probe in its own process. */
export interface StallProbeMethods {
  /** Asks the server on this port of 127.0.0.1 from now on. */
  start(port: number): Promise<void>;
  /** Results since `start` or the last look. */
  look(): ProbeWindow;
}

const INTERVAL_MS = 5;
/** A server answers what it has in memory in the order of the queries, give or take a batch. */
const OVERTAKEN_MS = 500;
const MAX_IDS = 0x1_0000;
/** A name that each cluster has; before the first sync the answer is SERVFAIL, which is fine. */
const PROBED = { name: 'kubernetes.default.svc.cluster.local', type: 'A' } as const;

/**
 * Asks the same question every 5 ms, however many answers are outstanding, so that a server which
 * does nothing for a while shows it by an answer as late as that while was long.
 */
export class StallProbe implements StallProbeMethods {
  readonly #nowMs: () => number;
  readonly #asked = new Asked(PROBED);
  /** When the queries were sent that wait for an answer, by ID, oldest first. */
  readonly #sentMs = new Map<number, number>();
  #socket: Socket | undefined;
  #ticker: Ticker | undefined;
  #nextId = 0;
  #answersMs: number[] = [];
  #firstAnswerMs: number | undefined;
  /** When the last query was sent that was answered. */
  #answeredMs = 0;

  constructor(nowMs: () => number = monotonicMs) {
    this.#nowMs = nowMs;
  }

  async start(port: number): Promise<void> {
    this.#socket = await connectUdp(port, (message) => this.#receive(message));
    this.#ticker = new Ticker(INTERVAL_MS, () => this.#ask(this.#nowMs()));
  }

  look(): ProbeWindow {
    const nowMs = this.#nowMs();
    let lost = 0;
    for (const [id, sentMs] of this.#sentMs) {
      if (this.#answeredMs - sentMs < OVERTAKEN_MS) {
        // A stall in progress counts, too.
        if (this.#firstAnswerMs !== undefined) this.#answersMs.push(nowMs - sentMs);
        continue;
      }
      this.#sentMs.delete(id);
      lost++;
    }
    const window: ProbeWindow = {
      answerMs: spreadOf(this.#answersMs),
      lost,
      ownDelayMs: spreadOf(this.#ticker?.takeDelays() ?? []),
      firstAnswerMs: this.#firstAnswerMs,
    };
    this.#answersMs = [];
    return window;
  }

  close(): void {
    this.#ticker?.close();
    this.#ticker = undefined;
    this.#socket?.close();
    this.#socket = undefined;
  }

  #ask(nowMs: number): void {
    const id = this.#nextId++ % MAX_IDS;
    writeUint16(this.#asked.query, 0, id);
    this.#sentMs.delete(id);
    this.#sentMs.set(id, nowMs);
    // A copy: the socket may look at the bytes after the next query is written over them.
    if (this.#socket) sendQuietly(this.#socket, Buffer.from(this.#asked.query));
  }

  #receive(message: Buffer): void {
    const id = messageId(message);
    const sentMs = this.#sentMs.get(id);
    if (sentMs === undefined || !this.#asked.isAnsweredBy(message)) return;
    const nowMs = this.#nowMs();
    if (this.#firstAnswerMs === undefined) {
      this.#firstAnswerMs = nowMs;
      // Queries from before the server had a socket get no answer.
      for (const [older, olderMs] of this.#sentMs) {
        if (olderMs < sentMs) this.#sentMs.delete(older);
      }
    }
    this.#sentMs.delete(id);
    this.#answeredMs = Math.max(this.#answeredMs, sentMs);
    this.#answersMs.push(nowMs - sentMs);
  }
}
