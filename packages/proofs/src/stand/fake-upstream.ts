import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket as TcpSocket } from 'node:net';
import { type Closable, freePort } from '@kube-dns/testkit';
import { frameMessage } from '@kube-dns/transport';
import { decodeMessage, HEADER_BYTES, RCODE } from '@kube-dns/wire';
import { knownAddress } from './known-address.js';
import { encodeBroken, encodeReply, LIES, questionEnd } from './upstream-replies.js';

/** What a name server does with a query. `slow` answers late, `lying` sends all that is no answer to it. */
export type Conduct =
  'right' | 'silent' | 'slow' | 'refused' | 'servfail' | 'lame' | 'lying' | 'broken';

export interface FakeUpstreamOptions {
  /** First byte of its addresses, see `knownAddress`. */
  readonly network: number;
  readonly slowMs?: number;
  readonly ttlSeconds?: number;
}

const HOST = '127.0.0.1';
const SLOW_MS = 2_000;
const TTL_SECONDS = 300;
const LENGTH_BYTES = 2;

/**
 * A name server that knows every name, and behaves as it is told. Closed, it is a machine on which
 * nobody listens; it can be opened again on the same port.
 */
export class FakeUpstream implements Closable {
  readonly port: number;
  conduct: Conduct = 'right';
  /** Queries that came. */
  received = 0;
  readonly #options: FakeUpstreamOptions;
  readonly #connections = new Set<TcpSocket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #udp: Socket | undefined;
  #tcp: Server | undefined;

  private constructor(port: number, options: FakeUpstreamOptions) {
    this.port = port;
    this.#options = options;
  }

  static async start(options: FakeUpstreamOptions): Promise<FakeUpstream> {
    const upstream = new FakeUpstream(await freePort(), options);
    await upstream.open();
    return upstream;
  }

  /** As it is named in options and metrics. */
  get text(): string {
    return `${HOST}#${this.port}`;
  }

  /** Listens on its port again. */
  async open(): Promise<void> {
    if (this.#udp !== undefined) return;
    const udp = (this.#udp = createSocket('udp4'));
    udp.on('message', (query, peer) => this.#take(query, (reply) => this.#send(reply, peer)));
    udp.bind(this.port, HOST);
    await once(udp, 'listening');
    udp.on('error', () => undefined);
    this.#tcp = createServer((socket) => this.#accept(socket)).listen(this.port, HOST);
    await once(this.#tcp, 'listening');
  }

  /** Nobody listens there from now on; may be called twice. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#udp?.close();
    this.#udp = undefined;
    for (const socket of this.#connections) socket.destroy();
    const tcp = this.#tcp;
    this.#tcp = undefined;
    if (tcp === undefined) return;
    const closed = once(tcp, 'close');
    tcp.close();
    await closed;
  }

  #send(reply: Buffer, { port, address }: RemoteInfo): void {
    this.#udp?.send(reply, port, address, () => undefined);
  }

  #accept(socket: TcpSocket): void {
    this.#connections.add(socket);
    socket.on('close', () => this.#connections.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      if (chunk.length < LENGTH_BYTES + HEADER_BYTES) return;
      this.#take(chunk.subarray(LENGTH_BYTES), (reply) => socket.write(frameMessage(reply)));
    });
  }

  #take(query: Buffer, send: (reply: Buffer) => void): void {
    this.received++;
    const end = questionEnd(query);
    if (end < 0) return;
    switch (this.conduct) {
      case 'silent':
        return;
      case 'slow':
        this.#later(() => send(this.#right(query, end)));
        return;
      case 'refused':
        send(encodeReply(query, end, { rcode: RCODE.REFUSED }));
        return;
      case 'servfail':
        send(encodeReply(query, end, { rcode: RCODE.SERVFAIL }));
        return;
      case 'lame':
        send(encodeReply(query, end, { isLame: true }));
        return;
      case 'broken':
        send(encodeBroken(query, end));
        return;
      case 'lying':
        for (const lie of LIES) send(lie(query, end));
        return;
      case 'right':
        send(this.#right(query, end));
    }
  }

  #right(query: Buffer, end: number): Buffer {
    const { network, ttlSeconds = TTL_SECONDS } = this.#options;
    const { name } = decodeMessage(query).questions[0]!;
    return encodeReply(query, end, { address: knownAddress(name, network), ttlSeconds });
  }

  #later(act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, this.#options.slowMs ?? SLOW_MS);
    this.#timers.add(timer);
  }
}
