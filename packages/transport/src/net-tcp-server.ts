import { once } from 'node:events';
import { createServer, isIPv6, type Server, type Socket } from 'node:net';
import { EVERY_ADDRESS, unmappedAddress } from '@kube-dns/wire';
import { frameMessage } from './frame-reader.js';
import type { TcpServer, TcpServerOwner, TcpSocket, TcpSocketOwner } from './tcp-server.js';

/** With so many bytes unsent a socket needs a drain: no more than the least that a connection may leave unread. */
const DRAIN_BYTES = 16 * 1024;

/** TCP through node:net: works everywhere. */
export class NetTcpServer implements TcpServer {
  readonly #owner: TcpServerOwner;
  readonly #server: Server;
  /** Set once it accepts no further connections. */
  #closed: Promise<unknown> | undefined;

  constructor(owner: TcpServerOwner) {
    this.#owner = owner;
    const options = { allowHalfOpen: true, noDelay: true, highWaterMark: DRAIN_BYTES };
    this.#server = createServer(options, (socket) => owner.accept(new NetTcpSocket(socket)));
  }

  async open(address: string, port: number, reusesPort: boolean): Promise<void> {
    const host = address === EVERY_ADDRESS ? '::' : address;
    const ipv6Only = isIPv6(address);
    this.#server.listen({ host, port, ipv6Only, exclusive: true, reusePort: reusesPort });
    await once(this.#server, 'listening');
    this.#server.on('error', () => this.#owner.onAcceptFailure());
  }

  stopAccepting(): void {
    if (!this.#server.listening) return;
    this.#closed = once(this.#server, 'close');
    this.#server.close();
  }

  async close(): Promise<void> {
    this.stopAccepting();
    await this.#closed;
  }
}

class NetTcpSocket implements TcpSocket {
  readonly address: string;
  readonly port: number;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.address = unmappedAddress(socket.remoteAddress ?? '');
    this.port = socket.remotePort ?? 0;
    socket.on('error', () => socket.destroy());
  }

  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  get needsDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  get isWritable(): boolean {
    return this.#socket.writable;
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  start(owner: TcpSocketOwner): void {
    this.#socket
      .on('data', (chunk: Buffer) => owner.onData(chunk, chunk.length))
      .on('drain', () => owner.onDrain())
      .on('end', () => owner.onEnd())
      .on('finish', () => owner.onFinish())
      .on('close', () => owner.onClosed());
  }

  send(message: Uint8Array, length: number): void {
    if (this.#socket.writableCorked === 0) this.#socket.cork();
    this.#socket.write(frameMessage(message, length));
  }

  write(frames: Uint8Array): void {
    this.#socket.write(frames);
  }

  flush(): void {
    this.#socket.uncork();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }
}
