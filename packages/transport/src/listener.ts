import { setTimeout as delay } from 'node:timers/promises';
import { within } from '@kube-dns/base';
import { EVERY_ADDRESS, SAFE_UDP_BYTES, unmappedAddress } from '@kube-dns/wire';
import {
  type AddressedClient,
  type AnswerSource,
  type ReplyPath,
  type RetainedQuery,
  SOURCE,
} from './answerer.js';
import { ListenerCounters } from './counters.js';
import { DgramEngine } from './dgram-engine.js';
import { ListenError } from './errors.js';
import { type AnsweringOptions, MessageHandler } from './message-handler.js';
import type { ServerAddress } from './server-address.js';
import { type AnswerCookie, ServerCookies, withRoom } from './server-cookies.js';
import { type TcpLimits, TcpListener } from './tcp-listener.js';
import type { DatagramSocket, Overload, Peer, UdpEngine } from './udp-engine.js';

export interface ListenOptions extends AnsweringOptions {
  /**
   * An IP address; `0.0.0.0` and `::` are every address of their family, and EVERY_ADDRESS those of both, or of
   * IPv4 alone where the system has no IPv6.
   */
  readonly address: string;
  /** The port for UDP and TCP; 0 takes a free one. */
  readonly port: number;
  /** The largest UDP answer whatever a client asks for, in bytes; 1,232 by default. */
  readonly maxUdpBytes?: number;
  readonly tcp?: Partial<TcpLimits>;
  /** How datagrams move; node:dgram by default. */
  readonly engine?: UdpEngine;
  /**
   * Lets other processes with the same option serve the same port (SO_REUSEPORT): the system gives each of
   * them some clients. False by default.
   */
  readonly reusesPort?: boolean;
  /** Makes the cookies of the answers (RFC 7873); the listeners of a process share it. */
  readonly cookies?: ServerCookies;
  /** Gets a line for the log when more arrives than can be answered, and when that is over: once a minute at most. */
  readonly onOverload?: (text: string) => void;
}

/** A DNS server on one address, over UDP and TCP. */
export interface Listener {
  readonly port: number;
  /** The name of the UDP engine. */
  readonly engine: string;
  readonly counters: ListenerCounters;
  /** Where more arrives over UDP than can be answered, now. */
  readonly overloads: readonly Overload[];
  /**
   * Accepts no more TCP connections, and resolves when all queries that were received over TCP are answered and the connections are ended,
   * after 5 s at most; UDP and sessions that stay are served until `close`. With `reusesPort` it leaves the port to the other
   * processes: UDP and sessions as well. `close` alone loses queries that wait in a socket.
   */
  leave(): Promise<void>;
  close(): Promise<void>;
}

/** See `TcpLimits.maxAgeMs`: ten minutes. */
export const DEFAULT_TCP_AGE_MS = 600_000;
const DEFAULT_TCP_LIMITS: Omit<TcpLimits, 'maxSessions'> = {
  maxConnections: 500,
  idleTimeoutMs: 10_000,
  maxAgeMs: DEFAULT_TCP_AGE_MS,
};
const PORT_ATTEMPTS = 10;
const EVERY_IPV4_ADDRESS = '0.0.0.0';
/** The error codes of a system without IPv6. */
const NO_IPV6: ReadonlySet<string | undefined> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL']);
/** By then upstream servers have answered, or clients wait no longer. */
const LEAVE_LIMIT_MS = 5_000;

/** Starts serving; rejects with a ListenError that names the address, the protocol and the reason. */
export async function listen(options: ListenOptions): Promise<Listener> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await listenOnce(options);
    } catch (error) {
      if (options.address === EVERY_ADDRESS && isWithoutIpv6(error)) {
        return await listen({ ...options, address: EVERY_IPV4_ADDRESS });
      }
      // A free UDP port may be in use for TCP; try another one.
      if (options.port !== 0 || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

function isWithoutIpv6(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return error instanceof ListenError && NO_IPV6.has(cause?.code);
}

async function listenOnce(options: ListenOptions): Promise<Listener> {
  const { address, maxUdpBytes = SAFE_UDP_BYTES, answerer, onFailure } = options;
  const { engine = new DgramEngine(), reusesPort = false, sessions, notifies, observer } = options;
  const { cookies = new ServerCookies() } = options;
  const counters = new ListenerCounters();
  const handler = new MessageHandler({
    answerer,
    counters,
    maxUdpBytes,
    onFailure,
    sessions,
    notifies,
    cookies,
    observer,
    compresses: options.compresses,
  });
  const udp = new UdpListener(engine.createSocket(counters, options.onOverload), handler);
  const limits = { maxSessions: sessions?.limit ?? 0, ...DEFAULT_TCP_LIMITS, ...options.tcp };
  const tcp = new TcpListener(engine, handler, limits, counters);
  const bind = async (protocol: 'UDP' | 'TCP', port: number): Promise<void> => {
    try {
      await (protocol === 'UDP' ? udp : tcp).open(address, port, reusesPort);
    } catch (cause) {
      throw new ListenError(protocol, address, port, cause, reusesPort);
    }
  };
  await bind('UDP', options.port);
  try {
    await bind('TCP', udp.boundPort);
  } catch (error) {
    await udp.close();
    throw error;
  }
  return {
    port: udp.boundPort,
    engine: engine.name,
    counters,
    get overloads() {
      return udp.overloads;
    },
    leave: () => {
      const leave = async () => {
        tcp.stopAccepting();
        if (reusesPort) await udp.leave(performance.now() + LEAVE_LIMIT_MS);
        await tcp.endConnections(reusesPort);
      };
      return within(LEAVE_LIMIT_MS, leave());
    },
    close: async () => {
      await Promise.all([udp.close(), tcp.close()]);
    },
  };
}

const NO_MESSAGE = new Uint8Array(0);
const NO_PEER: Peer = { address: '', port: 0 };
/** A socket is empty when nothing arrived in this many rounds; each round is several turns of the loop. */
const IDLE_ROUNDS = 2;
const ROUND_MS = 10;

/** Passes the datagrams of one socket to a handler and sends the answers. */
class UdpListener implements AddressedClient {
  readonly #socket: DatagramSocket;
  readonly #handler: MessageHandler;
  #peer = NO_PEER;
  /** Datagrams received, and queries among them that wait for their answers. */
  #received = 0;
  #waiting = 0;

  constructor(socket: DatagramSocket, handler: MessageHandler) {
    this.#socket = socket;
    this.#handler = handler;
  }

  get boundPort(): number {
    return this.#socket.port;
  }

  get overloads(): readonly Overload[] {
    return this.#socket.overloads;
  }

  get port(): number {
    return this.#peer.port;
  }

  get address(): string {
    return unmappedAddress(this.#peer.address);
  }

  copyAddress(to: Uint8Array, at: number): number {
    return this.#socket.copyAddress(this.#peer, to, at);
  }

  answersFrom(source: AnswerSource): void {
    this.#handler.source = source;
  }

  async open(address: string, port: number, reusesPort = false): Promise<void> {
    if (reusesPort) requireReusePort();
    const socket = this.#socket;
    const onDatagram = (bytes: Uint8Array, length: number, peer: Peer) => {
      this.#received++;
      // Nothing can be sent to port 0: such a source is forged.
      if (peer.port === 0) return;
      this.#peer = peer;
      const { out } = socket;
      const answerLength = this.#handler.handle(bytes, length, false, this, out);
      if (answerLength > 0) socket.send(out, answerLength, peer);
    };
    await socket.open(address, port, onDatagram, reusesPort);
  }

  defer(reusable?: ReplyPath): ReplyPath {
    this.#waiting++;
    const { query, retainedCookie } = this.#handler;
    const peer = this.#socket.retain(this.#peer);
    const observed = this.#handler.retainObserved();
    const path =
      reusable instanceof UdpReplyPath && reusable.hasEnded ? reusable : new UdpReplyPath();
    path.begin(this, peer, query.maxAnswerBytes, retainedCookie, observed);
    return path;
  }

  /** For a reply path: see `ReplyPath.out`. */
  get deferredOut(): Uint8Array | undefined {
    return this.#socket.deferredOut;
  }

  /** For a reply path: fits the answer to its client's size, and sends it; returns its length. */
  send(message: Uint8Array, length: number, maxBytes: number, cookie: AnswerCookie, peer: Peer) {
    const fitted = this.#handler.fit(message, length, maxBytes, cookie);
    this.#socket.send(message, fitted, peer);
    return fitted;
  }

  /** For a reply path: its answer is sent or abandoned. */
  release(peer: Peer): void {
    this.#waiting--;
    this.#socket.release(peer);
  }

  /**
   * Leaves the port to its other sockets, and resolves when all datagrams in the socket are received and
   * answered, or at the deadline.
   */
  async leave(deadlineMs: number): Promise<void> {
    this.#socket.leavePort();
    for (let idle = 0; idle < IDLE_ROUNDS && performance.now() < deadlineMs;) {
      const received = this.#received;
      await delay(ROUND_MS);
      idle = this.#received === received && this.#waiting === 0 ? idle + 1 : 0;
    }
  }

  close(): Promise<void> {
    return this.#socket.close();
  }
}

class UdpReplyPath implements ReplyPath {
  #listener!: UdpListener;
  #maxBytes = 0;
  #cookie: AnswerCookie;
  /** Undefined once the answer is sent or abandoned. */
  #peer: Peer | undefined;
  #observed: RetainedQuery | undefined;

  get hasEnded(): boolean {
    return this.#peer === undefined;
  }

  /** The way back to a client; the one before has ended. */
  begin(
    listener: UdpListener,
    peer: Peer,
    maxBytes: number,
    cookie: AnswerCookie,
    observed: RetainedQuery | undefined,
  ): void {
    this.#listener = listener;
    this.#peer = peer;
    this.#maxBytes = maxBytes;
    this.#cookie = cookie;
    this.#observed = observed;
  }

  get out(): Uint8Array | undefined {
    return this.#listener.deferredOut;
  }

  get address(): string {
    return unmappedAddress(this.#peer?.address ?? '');
  }

  get port(): number {
    return this.#peer?.port ?? 0;
  }

  send(
    message: Uint8Array,
    length: number,
    source: AnswerSource = SOURCE.LOCAL,
    server?: ServerAddress,
  ): void {
    const peer = this.#release();
    if (peer === undefined) return;
    const answer = withRoom(message, length, this.#cookie);
    const sent = this.#listener.send(answer, length, this.#maxBytes, this.#cookie, peer);
    this.#listener.release(peer);
    this.#observed?.answered(answer, sent, source, server);
  }

  abandon(): void {
    const peer = this.#release();
    if (peer === undefined) return;
    this.#listener.release(peer);
    this.#observed?.answered(NO_MESSAGE, 0, SOURCE.NONE, undefined);
  }

  #release(): Peer | undefined {
    const peer = this.#peer;
    this.#peer = undefined;
    return peer;
  }
}

/** The first versions of Node that share a port between processes, over UDP and TCP: earlier ones ignore the option. */
const FIRST_MINOR: Readonly<Record<number, number>> = { 22: 12, 23: 1 };
const FIRST_MAJOR = 24;

/** Throws an error that names this version of Node when its sockets cannot share a port (SO_REUSEPORT). */
export function requireReusePort(version = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const hasIt = major >= FIRST_MAJOR || minor >= (FIRST_MINOR[major] ?? Infinity);
  if (!hasIt) throw new Error(`Node ${version} cannot share a port; 22.12, 23.1 or later can`);
}
