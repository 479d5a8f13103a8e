import { once } from 'node:events';
import {
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls';
import type { Closable } from '../owned.js';
import { freePort } from '../process/free-port.js';
import type { Certificate } from '../tls/certificate.js';
import { frameMessage, Frames } from './clients.js';
import { encodeReply } from './messages.js';
import {
  isMessages,
  NameServerRequest,
  type Script,
  type ServerEndpoint,
} from './scripted-name-server.js';

export interface EncryptedNameServerOptions {
  readonly certificate: Certificate;
  /** DNS over TLS by default. */
  readonly protocol?: 'tls' | 'https';
  /** Default: a free port of 127.0.0.1. */
  readonly port?: number;
  /** Each handshake begins so late. */
  readonly handshakeDelayMs?: number;
}

type Headers = Readonly<Record<string, unknown>>;

/** A request over HTTPS. */
export interface HttpRequest {
  readonly headers: Headers;
  readonly id: number;
}

/** A name server over TLS or HTTPS that answers by a script and records its queries. */
export class EncryptedNameServer implements Closable {
  /** The received queries, the oldest first; with the padding and ID that they came with. */
  readonly requests: NameServerRequest[] = [];
  readonly httpRequests: HttpRequest[] = [];
  script: Script;
  /** The status of answers over HTTPS. */
  status = 200;
  /** Connections so far, handshakes that succeeded, and those of them with a ticket. */
  accepted = 0;
  handshakes = 0;
  resumed = 0;
  /** The most handshakes that ran at a time. */
  mostHandshakes = 0;
  handshakeDelayMs: number;
  readonly #running = new Set<Socket>();
  /** Each connection of a client, and the one behind it to the server. */
  readonly #relays = new Map<Socket, Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #front: Server;
  readonly #server: TlsServer | Http2SecureServer;

  private constructor(script: Script, options: EncryptedNameServerOptions) {
    this.script = script;
    this.handshakeDelayMs = options.handshakeDelayMs ?? 0;
    const isHttps = options.protocol === 'https';
    this.#server = isHttps
      ? createSecureServer(options.certificate)
      : createTlsServer(options.certificate);
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      this.#noteHandshake(socket);
      if (!isHttps) this.#serveTls(socket);
    });
    this.#server.on('tlsClientError', (_error, socket: TLSSocket) => socket.destroy());
    this.#server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream: ServerHttp2Stream, headers: Headers) =>
      this.#serveHttp(stream, headers),
    );
    this.#front = createServer((socket) => this.#accept(socket));
  }

  static async start(
    script: Script,
    options: EncryptedNameServerOptions,
  ): Promise<EncryptedNameServer> {
    const port = options.port ?? (await freePort());
    const server = new EncryptedNameServer(script, options);
    server.#server.listen(0, '127.0.0.1');
    server.#front.listen(port, '127.0.0.1');
    await Promise.all([once(server.#server, 'listening'), once(server.#front, 'listening')]);
    return server;
  }

  get port(): number {
    return (this.#front.address() as AddressInfo).port;
  }

  get at(): ServerEndpoint {
    return { address: '127.0.0.1', port: this.port };
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#relays.size;
  }

  /** The names of the questions, in order. */
  get names(): string[] {
    return this.requests.map(({ question }) => question.name);
  }

  /** Shows another certificate from now on. */
  show(certificate: Certificate): void {
    this.#server.setSecureContext(certificate);
  }

  /** Over HTTPS: takes no more requests on the connections of now (GOAWAY); those under way are answered. */
  goAway(): void {
    for (const session of this.#sessions) session.close();
  }

  /** Ends all connections without a word. */
  cut(): void {
    for (const socket of [...this.#relays.keys()]) socket.resetAndDestroy();
  }

  /** Nothing more arrives over the connections of now, in both directions: they are half-open. */
  freeze(): void {
    for (const [socket, inner] of this.#relays) {
      socket.unpipe().pause();
      inner.unpipe().pause();
    }
  }

  /** May be called twice. */
  async close(): Promise<void> {
    if (!this.#front.listening) return;
    const closed = [once(this.#front, 'close'), once(this.#server, 'close')];
    this.#front.close();
    this.#server.close();
    this.cut();
    await Promise.all(closed);
  }

  /** The connection goes to the server through a relay, where it can be held. */
  #accept(socket: Socket): void {
    this.accepted++;
    const inner = connect((this.#server.address() as AddressInfo).port, '127.0.0.1');
    this.#relays.set(socket, inner);
    for (const [each, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      each.setNoDelay(true);
      each.on('error', () => undefined);
      each.on('close', () => {
        this.#running.delete(inner);
        this.#relays.delete(socket);
        other.destroy();
      });
    }
    this.#running.add(inner);
    this.mostHandshakes = Math.max(this.mostHandshakes, this.#running.size);
    const begin = () => socket.pipe(inner).pipe(socket);
    if (this.handshakeDelayMs === 0) begin();
    else setTimeout(begin, this.handshakeDelayMs).unref();
  }

  #noteHandshake(socket: TLSSocket): void {
    this.handshakes++;
    if (socket.isSessionReused()) this.resumed++;
    for (const inner of this.#running) {
      if (inner.localPort === socket.remotePort) this.#running.delete(inner);
    }
  }

  #serveTls(socket: TLSSocket): void {
    const frames = new Frames();
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      const send = (message: Uint8Array) => {
        if (socket.writable) socket.write(frameMessage(message));
      };
      for (const query of frames.push(piece)) this.#take(query, send, socket);
    });
  }

  #serveHttp(stream: ServerHttp2Stream, headers: Headers): void {
    const pieces: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('end', () => {
      const query = Buffer.concat(pieces);
      this.httpRequests.push({ headers, id: query.readUInt16BE(0) });
      this.#take(query, (message) => {
        if (stream.destroyed) return;
        stream.respond({ ':status': this.status, 'content-type': 'application/dns-message' });
        stream.end(message);
      });
    });
  }

  #take(query: Buffer, send: (message: Uint8Array) => void, socket?: Socket): void {
    const fields = {
      query,
      protocol: 'tcp',
      count: this.requests.length,
      peer: this.at,
      socket,
    } as const;
    const request = new NameServerRequest(fields, send);
    this.requests.push(request);
    const reply = this.script(request);
    if (reply instanceof Promise) throw new TypeError('this server takes no promise');
    if (reply === null || reply === undefined) return;
    const messages = isMessages(reply) ? reply : [encodeReply(query, reply)];
    for (const message of messages) send(message);
  }
}
