import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** Called for each datagram; `bytes` is valid during the call. */
export type OnDatagram = (bytes: Uint8Array, length: number, peer: EchoPeer) => void;

/** Where an answer goes. */
export interface EchoPeer {
  readonly address: string;
  readonly port: number;
}

/** What the echo needs of a DatagramEngine of packages/transport. */
export interface EchoEngine {
  readonly name: string;
  readonly port: number;
  open(address: string, port: number, onDatagram: OnDatagram): Promise<void>;
  send(bytes: Uint8Array, length: number, peer: EchoPeer): void;
}

/** The engine that the limit is measured with: the fastest that there is. The only place to change. */
export function createEchoEngine(): EchoEngine {
  return new DgramEcho();
}

/** One datagram for each system call, with nothing around it. */
class DgramEcho implements EchoEngine {
  readonly name = 'dgram';
  readonly #socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });

  get port(): number {
    return this.#socket.address().port;
  }

  async open(address: string, port: number, onDatagram: OnDatagram): Promise<void> {
    this.#socket.bind(port, address);
    await once(this.#socket, 'listening');
    this.#socket.on('message', (bytes, peer) => onDatagram(bytes, bytes.length, peer));
    this.#socket.on('error', () => undefined);
  }

  /** `bytes` is what was just received, which is nobody else's. */
  send(bytes: Uint8Array, length: number, { address, port }: EchoPeer): void {
    this.#socket.send(bytes, 0, length, port, address);
  }
}
