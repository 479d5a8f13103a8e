import { copyStart } from '@kube-dns/wire';
import type { BatchPeer } from './batch-peer.js';
import { EINTR, EMSGSIZE, MSG_DONTWAIT, SOL_UDP, UDP_SEGMENT } from './constants.js';
import type { Libc } from './libc.js';
import {
  CONTROL,
  CONTROL_LENGTH,
  HEADER_BYTES,
  HEADER_WORDS,
  IOV,
  IOV_COUNT,
  IOV_LENGTH,
  IOV_WORDS,
  MessageArena,
  NAME,
  NAME_LENGTH,
  NAME_WORDS,
  SEGMENT_CONTROL_WORDS,
  SLOTS,
} from './message-arena.js';

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
    let isAccepted = false;
    for (let slot = start; slot < end;) {
      const headers = this.#arena.headersFrom(slot);
      const sent = this.#libc.sendmmsg(socket.fd, headers, end - slot, MSG_DONTWAIT);
      if (sent > 0) {
        slot += sent;
        isAccepted = true;
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
    return isAccepted;
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
        let isAccepted = false;
        for (let slot = start; slot < end; slot++) {
          if (groups.groupOf[slot] !== group) continue;
          if (this.#sendSingly(socket, slot, slot + 1)) isAccepted = true;
        }
        // Joining is at fault when single ones pass, unless one client's path is too narrow.
        if (isAccepted && errno !== EMSGSIZE && groups.size[group]! > 1) joining.refuse();
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

/** Joining pays when it saves one send of this many. */
const WORTHWHILE_SHARE = 1 / 8;
/** After batches without much to join, at most this many are sent as they are. */
const MAX_PAUSE = 63;

/**
 * Whether the messages of a socket are joined (UDP_SEGMENT). The search costs time: where clients have one query in flight
 * each, there is nothing to find, so it is tried less and less often there.
 */
export class Joining {
  #isRefused = false;
  #pause = 0;
  #batchesToSkip = 0;

  /** Called once per batch: whether to look for messages to join. */
  isDue(messages: number): boolean {
    if (messages < 2 || this.#isRefused) return false;
    if (this.#batchesToSkip === 0) return true;
    this.#batchesToSkip--;
    return false;
  }

  /** So many messages became so many sends. */
  note(messages: number, sends: number): void {
    const isWorthwhile = messages - sends >= messages * WORTHWHILE_SHARE;
    this.#pause = isWorthwhile ? 0 : Math.min(2 * this.#pause + 1, MAX_PAUSE);
    this.#batchesToSkip = this.#pause;
  }

  /** The system does not send joined messages from this socket: it is not tried again. */
  refuse(): void {
    this.#isRefused = true;
  }
}

/** The length of a struct cmsghdr with a 16-bit number. */
const SEGMENT_CONTROL_BYTES = 18;

/**
 * The messages of a batch as sendmmsg takes them when several become one send: for each group a header of its own, which
 * points to the parts of its messages in the arena, one behind the other.
 *
 *     headers × 64 │ iovecs × 64
 */
class JoinedMessages {
  readonly groups: MessageGroups;
  readonly #arena: MessageArena;
  readonly #bytes: Uint8Array;
  readonly #words: Int32Array;
  readonly #iovsAt = SLOTS * HEADER_WORDS;
  /** The two words of the address of each iovec. */
  readonly #iovAddresses: Int32Array;
  /** Of each group: its next iovec, and its last. */
  readonly #nextIov = new Uint8Array(SLOTS);
  readonly #lastIov = new Uint8Array(SLOTS);

  constructor(libc: Libc, arena: MessageArena) {
    this.#arena = arena;
    this.groups = new MessageGroups(arena);
    this.#bytes = new Uint8Array(SLOTS * (HEADER_WORDS + IOV_WORDS) * 4);
    this.#words = new Int32Array(this.#bytes.buffer);
    const start = libc.addressOf(this.#bytes) + BigInt(this.#iovsAt * 4);
    const addresses = Array.from({ length: SLOTS }, (_, i) => start + BigInt(i * IOV_WORDS * 4));
    this.#iovAddresses = new Int32Array(BigUint64Array.from(addresses).buffer);
  }

  /** Joins the messages in these slots, and returns how many sends they are. */
  join(start: number, end: number): number {
    const { groups } = this;
    groups.find(start, end);
    if (groups.count === end - start) return groups.count;
    for (let group = 0, iov = 0; group < groups.count; group++) {
      this.#writeHeader(group, iov);
      this.#nextIov[group] = iov;
      iov += groups.size[group]!;
      this.#lastIov[group] = iov - 1;
    }
    for (let slot = start; slot < end; slot++) {
      const group = groups.groupOf[slot]!;
      this.#writeIov(slot, groups.isLast(slot) ? this.#lastIov[group]! : this.#nextIov[group]!++);
    }
    return groups.count;
  }

  /** The headers from a group on. */
  headersFrom(group: number): Uint8Array {
    return group === 0 ? this.#bytes : this.#bytes.subarray(group * HEADER_BYTES);
  }

  #writeHeader(group: number, iov: number): void {
    const { words: arenaWords } = this.#arena;
    const words = this.#words;
    const size = this.groups.size[group]!;
    const slot = this.groups.firstSlot[group]!;
    const at = group * HEADER_WORDS;
    const from = slot * HEADER_WORDS;
    words[at + NAME] = arenaWords[from + NAME]!;
    words[at + NAME + 1] = arenaWords[from + NAME + 1]!;
    words[at + NAME_LENGTH] = arenaWords[from + NAME_LENGTH]!;
    words[at + IOV] = this.#iovAddresses[2 * iov]!;
    words[at + IOV + 1] = this.#iovAddresses[2 * iov + 1]!;
    words[at + IOV_COUNT] = size;
    words[at + CONTROL] = arenaWords[from + CONTROL]!;
    words[at + CONTROL + 1] = arenaWords[from + CONTROL + 1]!;
    const controlBytes = arenaWords[from + CONTROL_LENGTH]!;
    words[at + CONTROL_LENGTH] = controlBytes;
    if (size === 1) return;
    words[at + CONTROL_LENGTH] = controlBytes + SEGMENT_CONTROL_WORDS * 4;
    // Behind the control message of the slot, whose own header does not count this one.
    const controlAt = this.#arena.controlAt(slot) + controlBytes / 4;
    arenaWords[controlAt] = SEGMENT_CONTROL_BYTES;
    arenaWords[controlAt + 1] = 0;
    arenaWords[controlAt + 2] = SOL_UDP;
    arenaWords[controlAt + 3] = UDP_SEGMENT;
    arenaWords[controlAt + 4] = this.groups.segmentBytes[group]!;
  }

  #writeIov(slot: number, iov: number): void {
    const { words: arenaWords } = this.#arena;
    const at = this.#iovsAt + iov * IOV_WORDS;
    const from = this.#arena.iovAt(slot);
    // The upper half of the length stays 0.
    for (let i = 0; i <= IOV_LENGTH; i++) this.#words[at + i] = arenaWords[from + i]!;
  }
}

/** Twice the number of messages: collisions are few. */
const TABLE_BITS = 7;
const TABLE_MASK = (1 << TABLE_BITS) - 1;
/** A value of the table: the number of the search, and a group. */
const GROUP_BITS = 6;
const GROUP_MASK = (1 << GROUP_BITS) - 1;
const MAX_SEARCHES = 1 << (31 - GROUP_BITS);
const NONE = 0xff;

const IPV4_NAME_BYTES = 16;
/** Of a struct sockaddr_in: family and port, address. Of a struct sockaddr_in6: the last word of the address. */
const IPV4_NAME_WORDS = 2;
const IPV6_NAME_WORDS = NAME_WORDS - 1;
const IPV6_LAST_WORD = 5;
/** A control message: its header, then words that matter, then one word of padding. */
const CONTROL_HEADER_WORDS = 4;
const CONTROL_PADDING_WORDS = 1;

/** Each segment with its headers passes every path of IPv6 (RFC 8200 section 5): 1,280 bytes less 48. */
const MAX_SEGMENT_BYTES = 1_232;
/** A send takes less than 64 KiB with its headers. */
const MAX_GROUP_BYTES = 65_000;

/**
 * Which messages of a batch can leave as one send (UDP_SEGMENT): those from one address to one client with one length,
 * and as the last a shorter one. A batch has no more messages than a send may have segments (64 before Linux 6.9).
 *
 *     table: client ──► group ──► next group of that client, with another length ──► …
 */
class MessageGroups {
  /** How many groups there are. */
  count = 0;
  /** Of each slot: its group. */
  readonly groupOf = new Uint8Array(SLOTS);
  /** Of each group: a slot of its own, its messages, their length, and the slot of a last shorter one. */
  readonly firstSlot = new Uint8Array(SLOTS);
  readonly size = new Uint8Array(SLOTS);
  readonly segmentBytes = new Int32Array(SLOTS);
  readonly #lastSlot = new Uint8Array(SLOTS);
  readonly #bytes = new Int32Array(SLOTS);
  readonly #nextOfClient = new Uint8Array(SLOTS);
  /** Open addressing. Values of earlier searches are as good as none, so nothing is cleared. */
  readonly #table = new Int32Array(1 << TABLE_BITS);
  #search = 0;
  readonly #arena: MessageArena;

  constructor(arena: MessageArena) {
    this.#arena = arena;
  }

  /** Finds the groups of the messages in these slots; `end` is behind the last. */
  find(start: number, end: number): void {
    this.count = 0;
    if (++this.#search === MAX_SEARCHES) {
      this.#search = 1;
      this.#table.fill(0);
    }
    for (let slot = start; slot < end; slot++) this.#add(slot);
  }

  /** Whether the message in this slot is the shorter one at the end of its group. */
  isLast(slot: number): boolean {
    return this.#lastSlot[this.groupOf[slot]!] === slot;
  }

  #add(slot: number): void {
    const bytes = this.#arena.payloadLengthOf(slot);
    if (bytes > MAX_SEGMENT_BYTES) {
      this.#open(slot, bytes, NONE);
      return;
    }
    const table = this.#table;
    let at = this.#hash(slot);
    for (; table[at]! >>> GROUP_BITS === this.#search; at = (at + 1) & TABLE_MASK) {
      const group = table[at]! & GROUP_MASK;
      if (!this.#isSameClient(slot, this.firstSlot[group]!)) continue;
      if (this.#join(slot, bytes, group)) return;
      table[at] = (this.#search << GROUP_BITS) | this.#open(slot, bytes, group);
      return;
    }
    table[at] = (this.#search << GROUP_BITS) | this.#open(slot, bytes, NONE);
  }

  /** Adds a message to one of its client's groups; false when it fits into none. */
  #join(slot: number, bytes: number, firstGroup: number): boolean {
    let other = NONE;
    for (let group = firstGroup; group !== NONE; group = this.#nextOfClient[group]!) {
      if (this.#bytes[group]! + bytes > MAX_GROUP_BYTES) continue;
      if (this.segmentBytes[group] === bytes) {
        this.#include(slot, bytes, group);
        return true;
      }
      // One may end a longer group, or a single one end its own.
      const isOpen = this.#lastSlot[group] === NONE;
      if (isOpen && (bytes < this.segmentBytes[group]! || this.size[group] === 1)) other = group;
    }
    if (other === NONE) return false;
    this.#include(slot, bytes, other);
    if (bytes < this.segmentBytes[other]!) this.#lastSlot[other] = slot;
    else {
      this.#lastSlot[other] = this.firstSlot[other]!;
      this.firstSlot[other] = slot;
      this.segmentBytes[other] = bytes;
    }
    return true;
  }

  #include(slot: number, bytes: number, group: number): void {
    this.groupOf[slot] = group;
    this.size[group] = this.size[group]! + 1;
    this.#bytes[group] = this.#bytes[group]! + bytes;
  }

  #open(slot: number, bytes: number, nextOfClient: number): number {
    const group = this.count++;
    this.groupOf[slot] = group;
    this.firstSlot[group] = slot;
    this.size[group] = 1;
    this.segmentBytes[group] = bytes;
    this.#lastSlot[group] = NONE;
    this.#bytes[group] = bytes;
    this.#nextOfClient[group] = nextOfClient;
    return group;
  }

  #hash(slot: number): number {
    const arena = this.#arena;
    const { words } = arena;
    const nameBytes = words[arena.nameLengthAt(slot)]!;
    // To the peer that the socket is connected to.
    if (nameBytes === 0) return 0;
    const at = arena.nameAt(slot);
    const address = words[at + (nameBytes === IPV4_NAME_BYTES ? 1 : IPV6_LAST_WORD)]!;
    const mixed = Math.imul(words[at]! ^ Math.imul(address, 0x85eb_ca6b), 0x9e37_79b1);
    return mixed >>> (32 - TABLE_BITS);
  }

  /** Whether two messages go to one client, from one address. */
  #isSameClient(slot: number, other: number): boolean {
    const arena = this.#arena;
    const { words } = arena;
    const nameBytes = words[arena.nameLengthAt(slot)]!;
    const controlBytes = words[arena.controlLengthAt(slot)]!;
    if (nameBytes !== words[arena.nameLengthAt(other)]!) return false;
    if (controlBytes !== words[arena.controlLengthAt(other)]!) return false;
    if (nameBytes > 0) {
      const nameWords = nameBytes === IPV4_NAME_BYTES ? IPV4_NAME_WORDS : IPV6_NAME_WORDS;
      if (!this.#isEqual(arena.nameAt(slot), arena.nameAt(other), 0, nameWords)) return false;
    }
    const controlEnd = controlBytes / 4 - CONTROL_PADDING_WORDS;
    const from = CONTROL_HEADER_WORDS;
    return this.#isEqual(arena.controlAt(slot), arena.controlAt(other), from, controlEnd);
  }

  #isEqual(at: number, otherAt: number, from: number, end: number): boolean {
    const { words } = this.#arena;
    for (let i = from; i < end; i++) if (words[at + i] !== words[otherAt + i]) return false;
    return true;
  }
}
