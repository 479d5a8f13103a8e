import { SAFE_UDP_BYTES } from '@kube-dns/wire';
import type { Answerer } from './answerer.js';
import { ListenerCounters } from './counters.js';
import { DgramEngine } from './dgram/dgram-engine.js';
import { ListenError } from './errors.js';
import { Intake } from './intake.js';
import { TcpListener, type TcpLimits } from './tcp-listener.js';
import type { UdpEngine } from './udp-engine.js';
import { UdpListener } from './udp-listener.js';

export interface ListenOptions {
  readonly answerer: Answerer;
  /** An IP address; `0.0.0.0` and `::` are all addresses of their family. */
  readonly address: string;
  /** The port for UDP and TCP; 0 takes a free one. */
  readonly port: number;
  /** The largest UDP answer whatever a client asks for, in bytes; 1,232 unless said otherwise. */
  readonly maxUdpBytes?: number;
  readonly tcp?: Partial<TcpLimits>;
  /** How datagrams move; node:dgram unless said otherwise. */
  readonly engine?: UdpEngine;
  /** Lets others that say so too serve the same UDP port, see `listenUdp`; false unless said otherwise. */
  readonly sharesPort?: boolean;
  /** Told of an error that the answerer threw; the client has got SERVFAIL. */
  readonly onFailure: (error: unknown) => void;
}

/** A DNS server on one address, over UDP and TCP. */
export interface Listener {
  readonly port: number;
  /** The name of the UDP engine. */
  readonly engine: string;
  readonly counters: ListenerCounters;
  /** Of the UDP socket, see `DatagramSocket.descriptor`. */
  readonly descriptor: number | undefined;
  close(): Promise<void>;
}

const DEFAULT_TCP_LIMITS: TcpLimits = { maxConnections: 500, idleTimeoutMs: 10_000 };
const PORT_ATTEMPTS = 10;

/** Starts to serve; rejects with a ListenError that names the address, the protocol and the reason. */
export async function listen(options: ListenOptions): Promise<Listener> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await listenOnce(options);
    } catch (error) {
      // A free UDP port may be taken for TCP; another one is as good.
      if (options.port !== 0 || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/**
 * Serves over UDP alone, beside the listener of another thread or process that has the port with
 * `sharesPort` as well: the system gives each of them the datagrams of some clients (SO_REUSEPORT).
 * Rejects with a ListenError.
 */
export async function listenUdp(
  options: Omit<ListenOptions, 'tcp' | 'sharesPort'>,
): Promise<Listener> {
  const { udp, counters, engine } = createUdp(options);
  const { address, port } = options;
  await bind('UDP', address, port, () => udp.open(address, port, true));
  return {
    port: udp.boundPort,
    engine,
    counters,
    descriptor: udp.descriptor,
    close: () => udp.close(),
  };
}

async function listenOnce(options: ListenOptions): Promise<Listener> {
  const { address, sharesPort } = options;
  const { udp, intake, counters, engine } = createUdp(options);
  const tcp = new TcpListener(intake, { ...DEFAULT_TCP_LIMITS, ...options.tcp }, counters);
  await bind('UDP', address, options.port, () => udp.open(address, options.port, sharesPort));
  try {
    await bind('TCP', address, udp.boundPort, () => tcp.open(address, udp.boundPort));
  } catch (error) {
    await udp.close();
    throw error;
  }
  return {
    port: udp.boundPort,
    engine,
    counters,
    descriptor: udp.descriptor,
    close: async () => {
      await Promise.all([udp.close(), tcp.close()]);
    },
  };
}

function createUdp(options: ListenOptions) {
  const { maxUdpBytes = SAFE_UDP_BYTES, answerer, onFailure } = options;
  const { engine = new DgramEngine() } = options;
  const counters = new ListenerCounters();
  const intake = new Intake({ answerer, counters, maxUdpBytes, onFailure });
  const udp = new UdpListener(engine.createSocket(counters), intake);
  return { udp, intake, counters, engine: engine.name };
}

async function bind(
  protocol: string,
  address: string,
  port: number,
  open: () => Promise<void>,
): Promise<void> {
  try {
    await open();
  } catch (cause) {
    throw new ListenError(protocol, address, port, cause);
  }
}
