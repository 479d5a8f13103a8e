import { createSocket, type Socket, type SocketOptions } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { EVERY_ADDRESS, MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import type { ListenerCounters } from './counters.js';
import { NetTcpServer } from './net-tcp-server.js';
import { copyAddress, type ServerAddress } from './server-address.js';
import {
  type DatagramHandler,
  type DatagramSocket,
  DISCARD_PORT,
  discardAddress,
  type Peer,
  type PortOwner,
  type UdpEngine,
  type UpstreamPort,
  type UpstreamPortOptions,
} from './udp-engine.js';
import type { TcpServer, TcpServerOwner } from './tcp-server.js';

/** UDP through node:dgram and TCP through node:net: works everywhere, one system call per datagram. */
export class DgramEngine implements UdpEngine {
  readonly name = 'dgram';
  readonly batch = 0;

  createSocket(counters: ListenerCounters): DatagramSocket {
    return new DgramSocket(counters);
  }

  createTcpServer(owner: TcpServerOwner): TcpServer {
    return new NetTcpServer(owner);
  }

  sendTogether(work: () => void): void {
    work();
  }

  openUpstreamPort(options: UpstreamPortOptions, owner: PortOwner): UpstreamPort | undefined {
    return DgramUpstreamPort.open(options, owner);
  }
}

/** This many answers may wait in Node for the system; further ones are dropped. */
const MAX_SENDS_IN_FLIGHT = 256;
const LISTENER_BUFFER_BYTES = 1 << 22;

/** The UDP socket of a listener on node:dgram: one system call per datagram. */
class DgramSocket implements DatagramSocket {
  readonly overloads = [];
  readonly out = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #counters: ListenerCounters;
  #socket: Socket | undefined;
  #address = '';
  #discardAddress = '';
  #port = 0;
  #isPortExplicit = false;
  #hasLeftPort = false;
  #sendsInFlight = 0;
  readonly #onSent = (error: Error | null): void => {
    this.#sendsInFlight--;
    if (error) this.#counters.sendErrors++;
  };

  constructor(counters: ListenerCounters) {
    this.#counters = counters;
  }

  get port(): number {
    return this.#port;
  }

  async open(
    address: string,
    port: number,
    onDatagram: DatagramHandler,
    reusesPort = false,
  ): Promise<void> {
    const isForAll = address === EVERY_ADDRESS;
    const socket = createSocket({
      type: isForAll || isIPv6(address) ? 'udp6' : 'udp4',
      ipv6Only: isIPv6(address),
      lookup: noLookup,
      reusePort: reusesPort,
    });
    this.#socket = socket;
    // With `noLookup` it listens, or fails, before bind() returns.
    const listening = once(socket, 'listening');
    socket.bind({ address: isForAll ? '::' : address, port, exclusive: true });
    try {
      await listening;
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#address = address;
    this.#isPortExplicit = port !== 0;
    socket.on('error', () => this.#counters.sendErrors++);
    socket.on('message', (bytes, peer) => onDatagram(bytes, bytes.length, peer));
    this.#port = socket.address().port;
    growReceiveBuffer(socket, LISTENER_BUFFER_BYTES);
  }

  send(bytes: Uint8Array, length: number, peer: Peer): void {
    if (this.#socket === undefined || this.#sendsInFlight >= MAX_SENDS_IN_FLIGHT) {
      this.#counters.sendErrors++;
      return;
    }
    this.#sendsInFlight++;
    // Node needs the bytes until they are sent, and the caller writes its next answer there.
    const copy = Buffer.from(bytes.subarray(0, length));
    // A connected socket sends to its peer only. Datagrams that arrive in this moment are received too.
    if (this.#hasLeftPort) this.#socket.disconnect();
    this.#socket.send(copy, peer.port, peer.address, this.#onSent);
    if (this.#hasLeftPort) this.#connect();
  }

  leavePort(): void {
    // A port that the system chose is lost when the socket is disconnected.
    if (this.#hasLeftPort || !this.#isPortExplicit) return;
    this.#hasLeftPort = true;
    this.#discardAddress = discardAddress(this.#address);
    this.#connect();
  }

  /** The system skips a connected socket when it chooses one of a port (SO_REUSEPORT). */
  #connect(): void {
    this.#socket?.connect(DISCARD_PORT, this.#discardAddress);
  }

  copyAddress({ address }: Peer, to: Uint8Array, at: number): number {
    return copyAddress(address, to, at);
  }

  /** Node makes a new object for each datagram. */
  retain(peer: Peer): Peer {
    return peer;
  }

  release(): void {
    // The garbage collector frees it.
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) return;
    const closed = once(socket, 'close');
    socket.close();
    await closed;
  }
}

const UPSTREAM_BUFFER_BYTES = 1 << 20;

/** A UDP port on node:dgram that queries are sent from. */
class DgramUpstreamPort implements UpstreamPort {
  readonly #socket: Socket;
  readonly #isConnected: boolean;
  #isClosed = false;

  private constructor(socket: Socket, isConnected: boolean, owner: PortOwner) {
    this.#socket = socket;
    this.#isConnected = isConnected;
    socket.on('message', (bytes, from) => owner.onDatagram(bytes, from));
    socket.on('error', () => {
      if (isConnected) owner.onUnreachable();
    });
  }

  /** Binds and, for a single server, connects; undefined when the system refuses either. */
  static open(options: UpstreamPortOptions, owner: PortOwner): DgramUpstreamPort | undefined {
    const { server, sourceAddress, isIpv6, port } = options;
    const socket = createSocket({ type: isIpv6 ? 'udp6' : 'udp4', lookup: noLookup });
    let isBroken = false;
    const onError = () => (isBroken = true);
    socket.on('error', onError);
    try {
      socket.bind({
        port,
        exclusive: true,
        ...(sourceAddress !== undefined && { address: sourceAddress }),
      });
      if (server !== undefined) socket.connect(server.port, server.address);
      // Both have taken effect, or these throw.
      socket.address();
      if (server !== undefined) socket.remoteAddress();
      growReceiveBuffer(socket, UPSTREAM_BUFFER_BYTES);
    } catch {
      isBroken = true;
    }
    if (isBroken) {
      closeQuietly(socket);
      return undefined;
    }
    socket.off('error', onError);
    return new DgramUpstreamPort(socket, server !== undefined, owner);
  }

  /** Without a callback: the time-out covers lost queries, and a callback costs a tick per query. */
  send(query: Uint8Array, server: ServerAddress): void {
    if (this.#isClosed) return;
    if (this.#isConnected) this.#socket.send(query);
    else this.#socket.send(query, server.port, server.address);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }
}

function closeQuietly(socket: Socket): void {
  try {
    socket.close();
  } catch {
    /* it was never open */
  }
}

/** Buffers a burst while the event loop is busy; the system may grant less. */
function growReceiveBuffer(socket: Socket, bytes: number): void {
  try {
    socket.setRecvBufferSize(bytes);
  } catch {
    /* the default size works too */
  }
}

/**
 * The `lookup` of sockets that get IP addresses only. It calls back immediately: the system's lookup
 * would delay every bind, connect and send to the next tick, with a closure each.
 */
const noLookup: NonNullable<SocketOptions['lookup']> = (address, options, callback) => {
  // node:dgram passes the family as a plain number.
  callback(null, address, options as unknown as number);
};
