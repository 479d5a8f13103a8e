import type { Socket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';
import { connectUdp, monotonicMs, sendQuietly, type Spread, spreadOf } from '@kube-dns/testkit';
import { writeUint16 } from '@kube-dns/wire';
import { Asked, type Expectation, messageId, Ticker } from './expectation.js';

/** The methods of a watcher in its own process. */
export interface ChangeWatcherMethods {
  open(port: number): Promise<void>;
  /** Asks until the answer is right; returns that moment on the monotonic clock, NaN after the limit. */
  waitFor(expectation: Expectation, limitMs: number): Promise<number>;
  /** How late this process was since the last call. */
  ownDelayMs(): Spread;
}

/** From an answer to the next question: the precision of the measurement. */
const PAUSE_MS = 1;
/** And once it is clear that a change is not seen at once. */
const LATE_MS = 500;
const LATE_PAUSE_MS = 10;
/** A lost question is asked again after this time. */
const RESEND_MS = 250;
const TICK_MS = 5;

/** Waits for changes to be seen in DNS; one question about each is in flight at a time. */
export class ChangeWatcher implements ChangeWatcherMethods {
  #socket: Socket | undefined;
  #nextId = 0;
  #ticker: Ticker | undefined;
  /** What waits for the answer with this ID. */
  readonly #waiting = new Map<number, (message: Buffer) => void>();

  async open(port: number): Promise<void> {
    this.#socket = await connectUdp(port, (message) => {
      this.#waiting.get(messageId(message))?.(message);
    });
    this.#ticker = new Ticker(TICK_MS, () => undefined);
  }

  async waitFor(expectation: Expectation, limitMs: number): Promise<number> {
    const asked = new Asked(expectation);
    const startMs = monotonicMs();
    const endMs = startMs + limitMs;
    while (monotonicMs() < endMs) {
      const answer = await this.#ask(asked);
      const nowMs = monotonicMs();
      if (answer !== undefined && asked.isRight(answer)) return nowMs;
      await delay(nowMs - startMs < LATE_MS ? PAUSE_MS : LATE_PAUSE_MS);
    }
    return Number.NaN;
  }

  ownDelayMs(): Spread {
    return spreadOf(this.#ticker?.takeDelays() ?? []);
  }

  #ask(asked: Asked): Promise<Buffer | undefined> {
    const id = this.#nextId++ & 0xffff;
    const query = Buffer.from(asked.query);
    writeUint16(query, 0, id);
    return new Promise((resolve) => {
      const end = (message: Buffer | undefined) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(message);
      };
      const timer = setTimeout(() => end(undefined), RESEND_MS);
      this.#waiting.set(id, (message) => {
        if (asked.isAnsweredBy(message)) end(message);
      });
      if (this.#socket) sendQuietly(this.#socket, query);
    });
  }
}
