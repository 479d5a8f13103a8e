import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6, type Server, type Socket } from 'node:net';
import { frameMessage, FrameReader } from '../src/frame-reader.js';
import type { ServerAddress } from '../src/server-address.js';

/** One query at a scripted server. */
export interface Request {
  readonly query: Buffer;
  readonly protocol: 'udp' | 'tcp';
  /** How often this server was asked before. */
  readonly count: number;
  readonly send: (message: Uint8Array) => void;
  /** The connection, over TCP. */
  readonly socket?: Socket;
}

/** A name server that does what a test tells it, over UDP and TCP on one port. */
export class NameServer {
  readonly requests: Request[] = [];
  readonly address: string;
  /** From where the last datagram came. */
  lastPeer: ServerAddress | undefined;
  readonly #onRequest: (request: Request) => void;
  readonly #udp: UdpSocket;
  readonly #tcp: Server;
  readonly #connections = new Set<Socket>();

  private constructor(address: string, onRequest: (request: Request) => void) {
    this.address = address;
    this.#onRequest = onRequest;
    this.#udp = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    this.#tcp = createServer((socket) => this.#accept(socket));
  }

  static async open(
    onRequest: (request: Request) => void,
    address = '127.0.0.1',
  ): Promise<NameServer> {
    for (;;) {
      const server = new NameServer(address, onRequest);
      server.#udp.bind(0, address);
      await once(server.#udp, 'listening');
      server.#udp.on('message', (query, peer) => {
        server.lastPeer = peer;
        server.#take(query, 'udp', (message) => server.#udp.send(message, peer.port, peer.address));
      });
      try {
        server.#tcp.listen(server.port, address);
        await once(server.#tcp, 'listening');
        return server;
      } catch {
        // The port that is free for UDP is taken for TCP.
        server.#udp.close();
      }
    }
  }

  get port(): number {
    return this.#udp.address().port;
  }

  get at(): ServerAddress {
    return { address: this.address, port: this.port };
  }

  /** Sends a datagram that nobody asked for. */
  sendTo(peer: ServerAddress, message: Uint8Array): void {
    this.#udp.send(message, peer.port, peer.address);
  }

  async close(): Promise<void> {
    for (const socket of this.#connections) socket.destroy();
    const closed = Promise.all([once(this.#udp, 'close'), once(this.#tcp, 'close')]);
    this.#udp.close();
    this.#tcp.close();
    await closed;
  }

  #accept(socket: Socket): void {
    const frames = new FrameReader();
    this.#connections.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#connections.delete(socket));
    socket.on('data', (chunk) => {
      frames.push(chunk);
      const query = frames.next();
      if (query === undefined) return;
      const send = (message: Uint8Array) => socket.write(frameMessage(message, message.length));
      this.#take(query, 'tcp', send, socket);
    });
  }

  #take(
    query: Buffer,
    protocol: 'udp' | 'tcp',
    send: (message: Uint8Array) => void,
    socket?: Socket,
  ): void {
    const count = this.requests.length;
    const request = { query: Buffer.from(query), protocol, count, send, ...(socket && { socket }) };
    this.requests.push(request);
    this.#onRequest(request);
  }
}

/** A port of 127.0.0.1 on which nobody listens. */
export async function deadServer(): Promise<ServerAddress> {
  const server = await NameServer.open(() => undefined);
  const { at } = server;
  await server.close();
  return at;
}
