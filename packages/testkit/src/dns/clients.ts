import type { Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Closable } from '../owned.js';
import { frameMessage, Frames } from './frames.js';
import { Inbox } from './inbox.js';
import { connectUdp, sendQuietly } from './udp-socket.js';

/** A DNS client over UDP on one socket. */
export class UdpClient implements Closable {
  readonly inbox: Inbox<Buffer>;
  readonly #socket: UdpSocket;

  private constructor(socket: UdpSocket, inbox: Inbox<Buffer>) {
    this.#socket = socket;
    this.inbox = inbox;
  }

  /** A client of one port, which sends from the address `from` if given; the default address is 127.0.0.1. */
  static async connect(port: number, address?: string, from?: string): Promise<UdpClient> {
    const inbox = new Inbox<Buffer>();
    const onMessage = (message: Buffer) => inbox.push(message);
    return new UdpClient(await connectUdp(port, onMessage, address, from), inbox);
  }

  send(message: Uint8Array): void {
    sendQuietly(this.#socket, message);
  }

  /** Sends a message and returns the next one received. */
  ask(message: Uint8Array, limitMs?: number): Promise<Buffer> {
    this.send(message);
    return this.inbox.next(limitMs);
  }

  async close(): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }
}

/** A DNS client over TCP on one connection. */
export class TcpClient implements Closable {
  readonly inbox = new Inbox<Buffer>();
  readonly socket: Socket;
  /** Resolves when the server has closed its side or reset the connection. */
  readonly closed: Promise<unknown>;
  /** Whether the server has ended its side. */
  hasEnded = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.on('end', resolve).on('close', resolve));
    // A reset connection resolves `closed`.
    socket.on('error', () => undefined);
    socket.on('end', () => (this.hasEnded = true));
  }

  /** Rejects when the server does not accept the connection. */
  static async connect(port: number, address = '127.0.0.1', from?: string): Promise<TcpClient> {
    const client = await TcpClient.connectDeaf(port, address, from);
    client.read();
    return client;
  }

  /** A client that does not read until `read` is called. */
  static async connectDeaf(port: number, address = '127.0.0.1', from?: string): Promise<TcpClient> {
    const source = from === undefined ? {} : { localAddress: from };
    const socket = connect({ host: address, port, ...source, allowHalfOpen: true, noDelay: true });
    await once(socket, 'connect');
    return new TcpClient(socket);
  }

  read(): void {
    const frames = new Frames();
    this.socket.on('data', (piece: Buffer) => {
      for (const message of frames.push(piece)) this.inbox.push(message);
    });
  }

  /** Sends messages in one piece. */
  send(...messages: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(messages.map(frameMessage)));
  }

  /** Sends a message and returns the next one received. */
  ask(message: Uint8Array, limitMs?: number): Promise<Buffer> {
    this.send(message);
    return this.inbox.next(limitMs);
  }

  /** Ends the client's side: no more queries follow. */
  end(): void {
    this.socket.end();
  }

  /** Drops the connection. */
  async close(): Promise<void> {
    if (this.socket.closed) return;
    const closed = once(this.socket, 'close');
    this.socket.destroy();
    await closed;
  }
}
