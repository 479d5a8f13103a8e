import { isIPv6 } from 'node:net';
import { EVERY_ADDRESS } from '@kube-dns/wire';
import type { ListenerCounters } from '../counters.js';
import type { DatagramHandler, DatagramSocket, Peer } from '../datagram-socket.js';
import type { BatchHub } from './batch-hub.js';
import { BatchSocket, type SocketOwner } from './batch-socket.js';
import { BatchPeer } from './batch-peer.js';

const RECEIVE_BUFFER_BYTES = 1 << 22;
const WILDCARDS: ReadonlySet<string> = new Set([EVERY_ADDRESS, '0.0.0.0', '::']);
/** This many released peers are retained for reuse. */
const MAX_SPARE_PEERS = 2_048;

/** The UDP socket of a listener: receives, answers and sends in batches. */
export class BatchListenerSocket implements DatagramSocket, SocketOwner {
  readonly #hub: BatchHub;
  readonly #counters: ListenerCounters;
  /** The sender of the current datagram. */
  readonly #sender: BatchPeer;
  readonly #sparePeers: BatchPeer[] = [];
  #socket: BatchSocket | undefined;
  #onDatagram: DatagramHandler = () => undefined;

  constructor(hub: BatchHub, counters: ListenerCounters) {
    this.#hub = hub;
    this.#counters = counters;
    this.#sender = BatchPeer.inArena(hub.inbox);
  }

  get port(): number {
    return this.#socket?.port ?? 0;
  }

  get out(): Uint8Array {
    return this.#hub.answers.next;
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a failure to bind is a rejection
  async open(
    address: string,
    port: number,
    onDatagram: DatagramHandler,
    reusesPort = false,
  ): Promise<void> {
    this.#onDatagram = onDatagram;
    const options = {
      isIpv6: address === EVERY_ADDRESS || isIPv6(address),
      isIpv6Only: isIPv6(address),
      address,
      port,
      reusesPort,
      answersFromSameAddress: WILDCARDS.has(address),
      merges: true,
      receiveBufferBytes: RECEIVE_BUFFER_BYTES,
    };
    this.#socket = new BatchSocket(this.#hub, options, this);
  }

  leavePort(): void {
    this.#socket?.leavePort();
  }

  send(bytes: Uint8Array, length: number, peer: Peer): void {
    const socket = this.#socket;
    if (socket === undefined) {
      this.#counters.sendErrors++;
      return;
    }
    const { answers, outgoing } = this.#hub;
    if (bytes === answers.next) answers.commit(socket, length, batchPeerOf(peer));
    else outgoing.push(socket, bytes, length, batchPeerOf(peer));
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
    this.#socket?.close();
    this.#socket = undefined;
    return Promise.resolve();
  }
}

function batchPeerOf(peer: Peer): BatchPeer {
  if (peer instanceof BatchPeer) return peer;
  throw new TypeError('the peer is of another engine');
}
