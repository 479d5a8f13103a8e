import { copyStart } from '@kube-dns/wire';
import { EINTR, MSG_DONTWAIT } from './constants.js';
import type { Libc } from './libc.js';
import { MessageArena, SLOTS } from './message-arena.js';
import type { BatchPeer } from './batch-peer.js';

const MAX_MESSAGE_BYTES = 65_536;
/** The usual answer fits; a larger one uses the following slots, and the batch is sent immediately. */
const SLOT_BYTES = 2_048;

/** A socket as the outbox needs it. */
export interface OutboxSocket {
  readonly fd: number;
  /** The system accepts nothing now; the messages are passed to `hold`. */
  mustWait(errno: number): boolean;
  /** The error was an earlier datagram's: another try can work. */
  mayRepeat(errno: number): boolean;
  /** Stores a message until the system accepts more. */
  hold(arena: MessageArena, slot: number): void;
  /** The system accepted a message. */
  noteSent(): void;
  /** A message was dropped. */
  countUnsent(): void;
}

/**
 * Messages that wait to be sent together. They all leave from one socket: the first for another sends
 * those that wait.
 */
export class Outbox {
  readonly #libc: Libc;
  readonly #arena: MessageArena;
  #socket: OutboxSocket | undefined;
  #start = 0;
  #end = 0;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#arena = new MessageArena(libc, SLOT_BYTES, MAX_MESSAGE_BYTES);
  }

  /** 64 KiB to write the next message in place, see `commit`. */
  get next(): Uint8Array {
    return this.#arena.payloads[this.#end]!;
  }

  /**
   * Queues the message that was written into `next`; without a peer it goes to the connected one. Throws a RangeError
   * for a length that does not fit there: what is behind it would be sent.
   */
  commit(socket: OutboxSocket, length: number, peer: BatchPeer | undefined): void {
    if (!(length > 0 && length <= MAX_MESSAGE_BYTES)) {
      throw new RangeError(`a message of ${length} bytes does not fit`);
    }
    if (this.#socket !== socket) {
      this.#send();
      this.#socket = socket;
    }
    const slot = this.#end++;
    this.#arena.setPayloadLength(slot, length);
    if (peer === undefined) {
      this.#arena.words[this.#arena.nameLengthAt(slot)] = 0;
      this.#arena.words[this.#arena.controlLengthAt(slot)] = 0;
    } else peer.addressMessage(this.#arena, slot);
    if (this.#end === SLOTS || length > SLOT_BYTES) this.flush();
  }

  /** Queues a copy of a message. */
  push(socket: OutboxSocket, bytes: Uint8Array, length: number, peer: BatchPeer | undefined): void {
    copyStart(bytes, length, this.next);
    this.commit(socket, length, peer);
  }

  /** Sends all that waits; the socket handles what the system does not accept. */
  flush(): void {
    if (this.#end === 0) return;
    this.#send();
    this.#start = this.#end = 0;
    this.#socket = undefined;
  }

  #send(): void {
    const socket = this.#socket;
    // The message at `end` may be written already: the socket of those before it is another one.
    while (socket !== undefined && this.#start < this.#end) {
      const count = this.#end - this.#start;
      const headers = this.#arena.headersFrom(this.#start);
      const sent = this.#libc.sendmmsg(socket.fd, headers, count, MSG_DONTWAIT);
      if (sent > 0) {
        this.#start += sent;
        socket.noteSent();
      } else this.#fail(socket, this.#libc.errno());
    }
    this.#start = this.#end;
  }

  /** The first of those that wait could not be sent. */
  #fail(socket: OutboxSocket, errno: number): void {
    if (errno === EINTR) return;
    if (socket.mustWait(errno)) {
      for (; this.#start < this.#end; this.#start++) socket.hold(this.#arena, this.#start);
    } else if (!socket.mayRepeat(errno)) {
      socket.countUnsent();
      this.#start++;
    }
  }
}
