import type { Socket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';
import { connectUdp, monotonicMs, sendQuietly } from '@kube-dns/testkit';
import { writeUint16 } from '@kube-dns/wire';
import { Asked, messageId, type Expectation } from './expectation.js';

/** The methods of a watcher in its own process. */
export interface ChangeWatcherMethods {
  open(port: number): Promise<void>;
  /** Asks until the answer is right; returns that moment on the monotonic clock, NaN after the limit. */
  waitFor(expectation: Expectation, limitMs: number): Promise<number>;
}

/** From an answer to the next question: the precision of the measurement. */
const PAUSE_MS = 1;
/** A lost question is asked again after this time. */
const RESEND_MS = 250;

/** Waits for single changes to be seen in DNS; one question is in flight at a time. */
export class ChangeWatcher implements ChangeWatcherMethods {
  #socket: Socket | undefined;
  #nextId = 0;
  #receive: (message: Buffer) => void = () => undefined;

  async open(port: number): Promise<void> {
    this.#socket = await connectUdp(port, (message) => this.#receive(message));
  }

  async waitFor(expectation: Expectation, limitMs: number): Promise<number> {
    const asked = new Asked(expectation);
    const endMs = monotonicMs() + limitMs;
    while (monotonicMs() < endMs) {
      const answer = await this.#ask(asked);
      const nowMs = monotonicMs();
      if (answer !== undefined && asked.isRight(answer)) return nowMs;
      await delay(PAUSE_MS);
    }
    return Number.NaN;
  }

  #ask(asked: Asked): Promise<Buffer | undefined> {
    const id = this.#nextId++ & 0xffff;
    const query = Buffer.from(asked.query);
    writeUint16(query, 0, id);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), RESEND_MS);
      this.#receive = (message) => {
        if (messageId(message) !== id || !asked.isAnsweredBy(message)) return;
        clearTimeout(timer);
        resolve(message);
      };
      if (this.#socket) sendQuietly(this.#socket, query);
    });
  }
}
