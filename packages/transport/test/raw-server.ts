import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TlsOptions, type TLSSocket } from 'node:tls';
import type { Closable } from '@kube-dns/testkit';
import { ADDRESS } from './encrypted-fixture.js';

const FRAME_HEADER_BYTES = 9;
const PREFACE_BYTES = 24;
/** Written to one connection at most: a client that ends no flood finds a silent server after it. */
const MAX_BYTES = 64 * 1024 * 1024;
const TURNS_A_WRITE = 16;

/** Types and flags of HTTP/2 frames (RFC 9113 section 6, RFC 7838, RFC 8336). */
export const FRAME = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
  ALTSVC: 10,
  ORIGIN: 12,
} as const;
export const END_HEADERS = 4;

/** One frame of HTTP/2. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: readonly number[] = [],
) {
  const head = Buffer.alloc(FRAME_HEADER_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, Buffer.from(payload)]);
}

/** What a server sends after a request: `first` once, and `again` without an end. */
export interface Flood {
  readonly first?: Uint8Array;
  readonly again: Uint8Array;
}

/**
 * A TLS server that answers the first request of a connection, whose stream it gets, with bytes as they are: over HTTPS after
 * its SETTINGS. Without a flood it says nothing.
 */
export class RawServer implements Closable {
  accepted = 0;
  handshakes = 0;
  /** The names of the ciphers that were agreed on, as OpenSSL has them. */
  readonly ciphers: string[] = [];
  /** Bytes written to all connections. */
  sent = 0;
  readonly #flood: (stream: number) => Flood | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<TLSSocket>();

  private constructor(server: Server, flood: (stream: number) => Flood | undefined) {
    this.#server = server;
    this.#flood = flood;
    server.on('connection', () => this.accepted++);
    server.on('tlsClientError', () => undefined);
    server.on('secureConnection', (socket) => this.#serve(socket));
  }

  static async start(
    options: TlsOptions,
    flood: (stream: number) => Flood | undefined,
  ): Promise<RawServer> {
    const server = new RawServer(createServer(options), flood);
    server.#server.listen(0, ADDRESS);
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that the client has not ended. */
  get open(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: TLSSocket): void {
    this.handshakes++;
    this.ciphers.push(socket.getCipher().name);
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    const isHttps = socket.alpnProtocol === 'h2';
    if (isHttps) socket.write(frame(FRAME.SETTINGS, 0, 0));
    let received = Buffer.alloc(0);
    let isFlooding = false;
    socket.on('data', (piece: Buffer) => {
      received = Buffer.concat([received, piece]);
      const stream = isHttps ? requestedStream(received) : 0;
      if (stream === undefined || isFlooding) return;
      isFlooding = true;
      const flood = this.#flood(stream);
      if (flood?.first !== undefined) socket.write(flood.first);
      if (flood !== undefined) this.#repeat(socket, flood.again, 0);
    });
  }

  #repeat(socket: TLSSocket, bytes: Uint8Array, from: number): void {
    let sent = from;
    for (let turn = 0; turn < TURNS_A_WRITE && !socket.destroyed && sent < MAX_BYTES; turn++) {
      sent += bytes.length;
      this.sent += bytes.length;
      if (socket.write(bytes)) continue;
      socket.once('drain', () => this.#repeat(socket, bytes, sent));
      return;
    }
    if (!socket.destroyed && sent < MAX_BYTES) {
      setImmediate(() => this.#repeat(socket, bytes, sent));
    }
  }
}

/** The stream of the first request that is complete. */
function requestedStream(received: Buffer): number | undefined {
  for (let at = PREFACE_BYTES; at + FRAME_HEADER_BYTES <= received.length;) {
    const end = at + FRAME_HEADER_BYTES + received.readUIntBE(at, 3);
    const stream = received.readUInt32BE(at + 5);
    if (received[at + 3] === FRAME.DATA && end <= received.length) return stream;
    at = end;
  }
  return undefined;
}
