import type { Client, Reply } from './answerer.js';
import type { DatagramSocket, Peer } from './datagram-socket.js';
import type { Intake } from './intake.js';

const NOBODY: Peer = { address: '', port: 0 };

/** Feeds the datagrams of one socket to an intake and sends the answers back. */
export class UdpListener implements Client {
  readonly #socket: DatagramSocket;
  readonly #intake: Intake;
  #peer = NOBODY;

  constructor(socket: DatagramSocket, intake: Intake) {
    this.#socket = socket;
    this.#intake = intake;
  }

  get boundPort(): number {
    return this.#socket.port;
  }

  get descriptor(): number | undefined {
    return this.#socket.descriptor;
  }

  get port(): number {
    return this.#peer.port;
  }

  get address(): string {
    return this.#peer.address;
  }

  async open(address: string, port: number, sharesPort = false): Promise<void> {
    const socket = this.#socket;
    const onDatagram = (bytes: Uint8Array, length: number, peer: Peer) => {
      // Nothing can be sent to port 0: such a source is forged.
      if (peer.port === 0) return;
      this.#peer = peer;
      const { out } = socket;
      const answerLength = this.#intake.take(bytes, length, false, this, out);
      if (answerLength > 0) socket.send(out, answerLength, peer);
    };
    await socket.open(address, port, onDatagram, sharesPort);
  }

  defer(): Reply {
    return new UdpReply(this.#socket, this.#intake, this.#peer);
  }

  close(): Promise<void> {
    return this.#socket.close();
  }
}

class UdpReply implements Reply {
  readonly #socket: DatagramSocket;
  readonly #intake: Intake;
  readonly #maxBytes: number;
  /** Undefined once the answer is sent or given up. */
  #peer: Peer | undefined;

  constructor(socket: DatagramSocket, intake: Intake, peer: Peer) {
    this.#socket = socket;
    this.#intake = intake;
    this.#peer = socket.keep(peer);
    this.#maxBytes = intake.query.maxAnswerBytes;
  }

  get address(): string {
    return this.#peer?.address ?? '';
  }

  get port(): number {
    return this.#peer?.port ?? 0;
  }

  send(message: Uint8Array, length: number): void {
    const peer = this.#peer;
    if (peer === undefined) return;
    const fitted = this.#intake.fit(message, length, this.#maxBytes);
    this.#socket.send(message, fitted, peer);
    this.abandon();
  }

  abandon(): void {
    if (this.#peer !== undefined) this.#socket.giveBack(this.#peer);
    this.#peer = undefined;
  }
}
