import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { EVERY_ADDRESS, MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import { noLookup } from '../address-lookup.js';
import { copyAddress } from '../copy-address.js';
import type { ListenerCounters } from '../counters.js';
import {
  type DatagramHandler,
  type DatagramSocket,
  discardAddress,
  DISCARD_PORT,
  type Peer,
} from '../datagram-socket.js';
import { growReceiveBuffer } from './receive-buffer.js';

/** This many answers may wait in Node for the system; further ones are dropped. */
const MAX_SENDS_IN_FLIGHT = 256;
const RECEIVE_BUFFER_BYTES = 1 << 22;

/** The UDP socket of a listener on node:dgram: one system call per datagram. */
export class DgramSocket implements DatagramSocket {
  readonly out = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #counters: ListenerCounters;
  #socket: Socket | undefined;
  #address = '';
  #discardAddress = '';
  #port = 0;
  #isPortGiven = false;
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
    this.#isPortGiven = port !== 0;
    socket.on('error', () => this.#counters.sendErrors++);
    socket.on('message', (bytes, peer) => onDatagram(bytes, bytes.length, peer));
    this.#port = socket.address().port;
    growReceiveBuffer(socket, RECEIVE_BUFFER_BYTES);
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
    if (this.#hasLeftPort || !this.#isPortGiven) return;
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
