import { copyStart } from '@kube-dns/wire';
import { EINTR, EMSGSIZE, MSG_DONTWAIT } from './constants.js';
import { JoinedMessages } from './joined-messages.js';
import type { Joining } from './joining.js';
import type { Libc } from './libc.js';
import { MessageArena, SLOTS } from './message-arena.js';
import type { BatchPeer } from './batch-peer.js';

const MAX_MESSAGE_BYTES = 65_536;
/** The usual answer fits; a larger one uses the following slots, and the batch is sent immediately. */
const SLOT_BYTES = 2_048;

const FAILURE = { REPEAT: 0, WAIT: 1, REFUSED: 2 } as const;

/** A socket as the outbox needs it. */
export interface OutboxSocket {
  readonly fd: number;
  /** Undefined where the system has no UDP_SEGMENT. */
  readonly joining?: Joining | undefined;
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
 * those that wait. Several to one client may leave as one send, so their order may change.
 */
export class Outbox {
  readonly #libc: Libc;
  readonly #arena: MessageArena;
  readonly #joined: JoinedMessages;
  #socket: OutboxSocket | undefined;
  #start = 0;
  #end = 0;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#arena = new MessageArena(libc, SLOT_BYTES, MAX_MESSAGE_BYTES);
    this.#joined = new JoinedMessages(libc, this.#arena);
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
    if (socket !== undefined) this.#sendFrom(socket, this.#start, this.#end);
    this.#start = this.#end;
  }

  #sendFrom(socket: OutboxSocket, start: number, end: number): void {
    const { joining } = socket;
    const messages = end - start;
    if (joining?.isDue(messages) !== true) {
      this.#sendSingly(socket, start, end);
      return;
    }
    const sends = this.#joined.join(start, end);
    joining.note(messages, sends);
    if (sends === messages) this.#sendSingly(socket, start, end);
    else this.#sendJoined(socket, joining, start, end);
  }

  /** Returns whether the system took one. */
  #sendSingly(socket: OutboxSocket, start: number, end: number): boolean {
    let isTaken = false;
    for (let slot = start; slot < end;) {
      const headers = this.#arena.headersFrom(slot);
      const sent = this.#libc.sendmmsg(socket.fd, headers, end - slot, MSG_DONTWAIT);
      if (sent > 0) {
        slot += sent;
        isTaken = true;
        socket.noteSent();
        continue;
      }
      const failure = failureOf(socket, this.#libc.errno());
      if (failure === FAILURE.WAIT) while (slot < end) socket.hold(this.#arena, slot++);
      else if (failure === FAILURE.REFUSED) {
        socket.countUnsent();
        slot++;
      }
    }
    return isTaken;
  }

  #sendJoined(socket: OutboxSocket, joining: Joining, start: number, end: number): void {
    const { groups } = this.#joined;
    for (let group = 0; group < groups.count;) {
      const headers = this.#joined.headersFrom(group);
      const sent = this.#libc.sendmmsg(socket.fd, headers, groups.count - group, MSG_DONTWAIT);
      if (sent > 0) {
        group += sent;
        socket.noteSent();
        continue;
      }
      const errno = this.#libc.errno();
      const failure = failureOf(socket, errno);
      if (failure === FAILURE.WAIT) {
        for (let slot = start; slot < end; slot++) {
          if (groups.groupOf[slot]! >= group) socket.hold(this.#arena, slot);
        }
        return;
      }
      if (failure === FAILURE.REFUSED) {
        let isTaken = false;
        for (let slot = start; slot < end; slot++) {
          if (groups.groupOf[slot] !== group) continue;
          if (this.#sendSingly(socket, slot, slot + 1)) isTaken = true;
        }
        // Joining is at fault when single ones pass, unless one client's path is too narrow.
        if (isTaken && errno !== EMSGSIZE && groups.size[group]! > 1) joining.refuse();
        group++;
      }
    }
  }
}

/** What the failure of a send means for its message. */
function failureOf(socket: OutboxSocket, errno: number): number {
  if (errno === EINTR) return FAILURE.REPEAT;
  if (socket.mustWait(errno)) return FAILURE.WAIT;
  return socket.mayRepeat(errno) ? FAILURE.REPEAT : FAILURE.REFUSED;
}
