import type { Client, Reply } from './answerer.js';
import type { DatagramEngine, Peer } from './datagram-engine.js';
import type { Intake } from './intake.js';

const NOBODY: Peer = { address: '', port: 0 };

/** Feeds the datagrams of one engine to an intake and sends the answers back. */
export class UdpListener implements Client {
  readonly #engine: DatagramEngine;
  readonly #intake: Intake;
  #peer = NOBODY;

  constructor(engine: DatagramEngine, intake: Intake) {
    this.#engine = engine;
    this.#intake = intake;
  }

  get boundPort(): number {
    return this.#engine.port;
  }

  get port(): number {
    return this.#peer.port;
  }

  get address(): string {
    return this.#peer.address;
  }

  async open(address: string, port: number): Promise<void> {
    await this.#engine.open(address, port, (bytes, length, peer) => {
      // Nothing can be sent to port 0: such a source is forged.
      if (peer.port === 0) return;
      this.#peer = peer;
      const answerLength = this.#intake.take(bytes, length, false, this);
      if (answerLength > 0) this.#engine.send(this.#intake.out, answerLength, peer);
    });
  }

  defer(): Reply {
    return new UdpReply(this.#engine, this.#intake, this.#peer);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

class UdpReply implements Reply {
  readonly #engine: DatagramEngine;
  readonly #intake: Intake;
  readonly #peer: Peer;
  readonly #maxBytes: number;
  #isOpen = true;

  constructor(engine: DatagramEngine, intake: Intake, peer: Peer) {
    this.#engine = engine;
    this.#intake = intake;
    this.#peer = peer;
    this.#maxBytes = intake.query.maxAnswerBytes;
  }

  send(message: Uint8Array, length: number): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const fitted = this.#intake.fit(message, length, this.#maxBytes);
    this.#engine.send(message, fitted, this.#peer);
  }

  abandon(): void {
    this.#isOpen = false;
  }
}
