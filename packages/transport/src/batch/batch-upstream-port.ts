import { isLoopback } from '../loopback.js';
import type { ServerAddress } from '../server-address.js';
import type { PortOwner, UpstreamPort, UpstreamPortOptions } from '../upstream-port.js';
import type { BatchHub } from './batch-hub.js';
import { BatchSocket, type SocketOwner } from './batch-socket.js';
import { MSG_TRUNC } from './constants.js';
import { encodeSocketName } from './socket-name.js';
import { BatchPeer } from './batch-peer.js';

const RECEIVE_BUFFER_BYTES = 1 << 20;
/** The TC bit in the third byte of a message. */
const TC = 0x02;

/** A UDP port that sends queries and receives replies in batches. */
export class BatchUpstreamPort implements UpstreamPort, SocketOwner {
  readonly #hub: BatchHub;
  readonly #owner: PortOwner;
  readonly #isIpv6: boolean;
  readonly #isConnected: boolean;
  readonly #socket: BatchSocket;
  readonly #sender: BatchPeer;
  #server: ServerAddress | undefined;
  readonly #toServer = BatchPeer.copy();

  /** Throws the system's error. */
  constructor(hub: BatchHub, options: UpstreamPortOptions, owner: PortOwner) {
    const { isIpv6, sourceAddress, port, server } = options;
    this.#hub = hub;
    this.#owner = owner;
    this.#isIpv6 = isIpv6;
    this.#isConnected = server !== undefined;
    this.#sender = BatchPeer.inArena(hub.inbox);
    this.#socket = new BatchSocket(
      hub,
      {
        isIpv6,
        address: sourceAddress ?? '',
        port,
        merges: server !== undefined && isLoopback(server.address),
        receiveBufferBytes: RECEIVE_BUFFER_BYTES,
        ...(server !== undefined && { remote: server }),
      },
      this,
    );
  }

  send(query: Uint8Array, server: ServerAddress): void {
    if (this.#socket.isClosed) return;
    const peer = this.#isConnected ? undefined : this.#peerOf(server);
    this.#hub.outgoing.push(this.#socket, query, query.length, peer);
    this.#hub.flushSoon();
  }

  onDatagram(slot: number): void {
    const { inbox } = this.#hub;
    this.#sender.pointTo(inbox, slot);
    const reply = this.#hub.replies.copyOf(inbox.payloads[slot]!, inbox.lengthOf(slot));
    // A reply that did not fit counts as truncated: it is fetched over TCP.
    if ((inbox.flagsOf(slot) & MSG_TRUNC) !== 0) reply[2]! |= TC;
    this.#owner.onDatagram(reply, this.#sender);
  }

  onError(): void {
    if (this.#isConnected) this.#owner.onUnreachable();
  }

  onUnsent(): void {
    // The time-out covers lost queries.
  }

  close(): void {
    this.#socket.close();
  }

  #peerOf(server: ServerAddress): BatchPeer {
    if (this.#server !== server) {
      this.#toServer.setName(encodeSocketName(server.address, server.port, this.#isIpv6));
      this.#server = server;
    }
    return this.#toServer;
  }
}
