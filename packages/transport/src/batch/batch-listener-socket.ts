import { isIPv6 } from 'node:net';
import { EVERY_ADDRESS } from '@kube-dns/wire';
import type { ListenerCounters } from '../counters.js';
import type { DatagramHandler, DatagramSocket, Peer } from '../datagram-socket.js';
import type { BatchHub } from './batch-hub.js';
import { BatchSocket, type SocketOwner } from './batch-socket.js';
import { BatchPeer } from './batch-peer.js';

const RECEIVE_BUFFER_BYTES = 1 << 22;
const EVERY_IPV4_ADDRESS = '0.0.0.0';
const EVERY_IPV6_ADDRESS = '::';
/** This many released peers are retained for reuse. */
const MAX_SPARE_PEERS = 2_048;

/**
 * The UDP socket of a listener: receives, answers and sends in batches. On every address it is two, one of each family: an IPv6
 * socket that IPv4 arrives at as well takes a tenth more CPU for it.
 */
export class BatchListenerSocket implements DatagramSocket, SocketOwner {
  readonly #hub: BatchHub;
  readonly #counters: ListenerCounters;
  /** The sender of the current datagram. */
  readonly #sender: BatchPeer;
  readonly #sparePeers: BatchPeer[] = [];
  #ipv4: BatchSocket | undefined;
  #ipv6: BatchSocket | undefined;
  #onDatagram: DatagramHandler = () => undefined;

  constructor(hub: BatchHub, counters: ListenerCounters) {
    this.#hub = hub;
    this.#counters = counters;
    this.#sender = BatchPeer.inArena(hub.inbox);
  }

  get port(): number {
    return (this.#ipv6 ?? this.#ipv4)?.port ?? 0;
  }

  get out(): Uint8Array {
    return this.#hub.answers.next;
  }

  get deferredOut(): Uint8Array {
    return this.#hub.outgoing.next;
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a failure to bind is a rejection
  async open(
    address: string,
    port: number,
    onDatagram: DatagramHandler,
    reusesPort = false,
  ): Promise<void> {
    this.#onDatagram = onDatagram;
    if (address === EVERY_ADDRESS) this.#openBoth(port, reusesPort);
    else if (isIPv6(address)) this.#ipv6 = this.#bind(address, port, reusesPort);
    else this.#ipv4 = this.#bind(address, port, reusesPort);
  }

  leavePort(): void {
    this.#ipv4?.leavePort();
    this.#ipv6?.leavePort();
  }

  send(bytes: Uint8Array, length: number, peer: Peer): void {
    const to = batchPeerOf(peer);
    const socket = to.isIpv4 ? this.#ipv4 : this.#ipv6;
    if (socket === undefined) {
      this.#counters.sendErrors++;
      return;
    }
    const { answers, outgoing } = this.#hub;
    if (bytes === answers.next) answers.commit(socket, length, to);
    else if (bytes === outgoing.next) outgoing.commit(socket, length, to);
    else outgoing.push(socket, bytes, length, to);
    this.#hub.flushSoon();
  }

  copyAddress(peer: Peer, to: Uint8Array, at: number): number {
    return batchPeerOf(peer).copyAddress(to, at);
  }

  retain(peer: Peer): Peer {
    const retained = this.#sparePeers.pop() ?? BatchPeer.copy();
    retained.copyFrom(batchPeerOf(peer));
    return retained;
  }

  release(peer: Peer): void {
    if (this.#sparePeers.length < MAX_SPARE_PEERS) this.#sparePeers.push(batchPeerOf(peer));
  }

  onDatagram(slot: number): void {
    const { inbox } = this.#hub;
    this.#sender.pointTo(inbox, slot);
    this.#onDatagram(inbox.payloads[slot]!, inbox.lengthOf(slot), this.#sender);
  }

  onError(): void {
    this.#counters.sendErrors++;
  }

  onUnsent(): void {
    this.#counters.sendErrors++;
  }

  async close(): Promise<void> {
    this.#ipv4?.close();
    this.#ipv6?.close();
    this.#ipv4 = this.#ipv6 = undefined;
    return Promise.resolve();
  }

  /** A free port of IPv6 can be taken in IPv4: then it throws as for a given port. */
  #openBoth(port: number, reusesPort: boolean): void {
    const ipv6 = this.#bind(EVERY_IPV6_ADDRESS, port, reusesPort);
    try {
      this.#ipv4 = this.#bind(EVERY_IPV4_ADDRESS, ipv6.port, reusesPort);
    } catch (error) {
      ipv6.close();
      throw error;
    }
    this.#ipv6 = ipv6;
  }

  #bind(address: string, port: number, reusesPort: boolean): BatchSocket {
    const options = {
      isIpv6: isIPv6(address),
      isIpv6Only: true,
      address,
      port,
      reusesPort,
      answersFromSameAddress: address === EVERY_IPV4_ADDRESS || address === EVERY_IPV6_ADDRESS,
      merges: true,
      receiveBufferBytes: RECEIVE_BUFFER_BYTES,
    };
    return new BatchSocket(this.#hub, options, this);
  }
}

function batchPeerOf(peer: Peer): BatchPeer {
  if (peer instanceof BatchPeer) return peer;
  throw new TypeError('the peer is of another engine');
}
