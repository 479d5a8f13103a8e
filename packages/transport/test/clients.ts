import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, isIPv6, type Socket } from 'node:net';
import { frameMessage, FrameReader } from '../src/frame-reader.js';
import { Inbox } from './inbox.js';

/** A DNS client over UDP on one socket. */
export class UdpClient {
  readonly inbox = new Inbox<Buffer>();
  readonly #socket: UdpSocket;

  private constructor(socket: UdpSocket) {
    this.#socket = socket;
    socket.on('message', (message) => this.inbox.push(message));
  }

  /** Sends to one port of an address from now on. */
  static async connect(port: number, address = '127.0.0.1'): Promise<UdpClient> {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    socket.connect(port, address);
    await once(socket, 'connect');
    return new UdpClient(socket);
  }

  send(message: Uint8Array): void {
    this.#socket.send(message);
  }

  ask(message: Uint8Array): Promise<Buffer> {
    this.send(message);
    return this.inbox.next();
  }

  async close(): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }
}

/** A DNS client over TCP on one connection; it reads once `read` was called. */
export class TcpClient {
  readonly inbox = new Inbox<Buffer>();
  readonly socket: Socket;
  /** Resolves when the server has closed its side or reset the connection. */
  readonly closed: Promise<unknown>;
  /** Whether the server has ended its side. */
  hasEnded = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.on('end', resolve).on('close', resolve));
    socket.on('error', () => undefined);
    socket.on('end', () => (this.hasEnded = true));
  }

  static async connect(port: number, address = '127.0.0.1'): Promise<TcpClient> {
    const client = await TcpClient.connectDeaf(port, address);
    client.read();
    return client;
  }

  /** A client that reads nothing for now. */
  static async connectDeaf(port: number, address = '127.0.0.1'): Promise<TcpClient> {
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
    const client = new TcpClient(socket);
    await once(socket, 'connect');
    return client;
  }

  read(): void {
    const frames = new FrameReader();
    this.socket.on('data', (chunk) => {
      frames.push(chunk);
      for (let message = frames.next(); message; message = frames.next()) this.inbox.push(message);
    });
  }

  send(...messages: readonly Uint8Array[]): void {
    this.socket.write(
      Buffer.concat(messages.map((message) => frameMessage(message, message.length))),
    );
  }

  ask(message: Uint8Array): Promise<Buffer> {
    this.send(message);
    return this.inbox.next();
  }

  /** Says that no more queries come. */
  end(): void {
    this.socket.end();
  }

  async close(): Promise<void> {
    if (this.socket.closed) return;
    const closed = once(this.socket, 'close');
    this.socket.destroy();
    await closed;
  }
}
