import type { Client, Reply } from '@kube-dns/transport';
import { type Answer, readAnswer } from './client.js';

/** A client of one query: what it is sent arrives as `answer`. */
export class WaitingClient implements Client {
  readonly address: string;
  readonly port: number;
  answer: Answer | undefined;
  /** Handles that were taken and neither used nor given back. */
  waiting = 0;

  constructor(port = 40_000, address = '192.0.2.1') {
    this.port = port;
    this.address = address;
  }

  /** The answer's rcode, or its texts; empty while there is none. */
  get result(): string {
    if (this.answer === undefined) return '';
    return this.answer.rcode === 'NOERROR' ? this.answer.texts.join() : this.answer.rcode;
  }

  defer(): Reply {
    this.waiting++;
    return {
      address: this.address,
      port: this.port,
      send: (message, length) => {
        this.waiting--;
        this.answer = readAnswer(Buffer.from(message.subarray(0, length)));
      },
      abandon: () => {
        this.waiting--;
      },
    };
  }
}
