import { type MessageArena, NAME_WORDS, SLOTS } from './message-arena.js';

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
export class MessageGroups {
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
