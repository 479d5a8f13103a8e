import { setTimeout as delay } from 'node:timers/promises';
import { EVERY_ADDRESS, SAFE_UDP_BYTES } from '@kube-dns/wire';
import type { AnswerObserver } from './answer-observer.js';
import type { Answerer } from './answerer.js';
import { ServerCookies } from './cookies/server-cookies.js';
import { ListenerCounters } from './counters.js';
import { DgramEngine } from './dgram/dgram-engine.js';
import { ListenError } from './errors.js';
import { MessageHandler } from './message-handler.js';
import { TcpListener, type TcpLimits } from './tcp-listener.js';
import type { SessionService } from './session.js';
import type { UdpEngine } from './udp-engine.js';
import { UdpListener } from './udp-listener.js';

export interface ListenOptions {
  readonly answerer: Answerer;
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
  /** Called with an error that the answerer threw; the client has received SERVFAIL. */
  readonly onFailure: (error: unknown) => void;
  /** Serves DNS Stateful Operations (RFC 8490); without it they get NOTIMP. */
  readonly sessions?: SessionService | undefined;
  /** Answers NOTIFY (RFC 1996), with and without a TSIG; without it they get NOTIMP. */
  readonly notifies?: Answerer | undefined;
  /** Sees the queries whose question can be read, NOTIFY not among them, and their answers. */
  readonly observer?: AnswerObserver | undefined;
  /** Makes the cookies of the answers (RFC 7873); the listeners of a process share it. */
  readonly cookies?: ServerCookies;
}

/** A DNS server on one address, over UDP and TCP. */
export interface Listener {
  readonly port: number;
  /** The name of the UDP engine. */
  readonly engine: string;
  readonly counters: ListenerCounters;
  /**
   * With `reusesPort`: leaves the port to the other processes and resolves when all received queries are
   * answered, after 5 s at most. `close` alone loses queries that wait in the socket. Without the option it
   * does nothing.
   */
  leave(): Promise<void>;
  close(): Promise<void>;
}

const DEFAULT_TCP_LIMITS: TcpLimits = { maxConnections: 500, idleTimeoutMs: 10_000 };
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
  });
  const udp = new UdpListener(engine.createSocket(counters), handler);
  const tcp = new TcpListener(handler, { ...DEFAULT_TCP_LIMITS, ...options.tcp }, counters);
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
    leave: async () => {
      if (!reusesPort) return;
      const limit = delay(LEAVE_LIMIT_MS, undefined, { ref: false });
      tcp.stopAccepting();
      const left = udp.leave(performance.now() + LEAVE_LIMIT_MS).then(() => tcp.endConnections());
      await Promise.race([left, limit]);
    },
    close: async () => {
      await Promise.all([udp.close(), tcp.close()]);
    },
  };
}
