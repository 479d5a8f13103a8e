import { SOL_UDP, UDP_SEGMENT } from './constants.js';
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
  type MessageArena,
  NAME,
  NAME_LENGTH,
  SEGMENT_CONTROL_WORDS,
  SLOTS,
} from './message-arena.js';
import { MessageGroups } from './message-groups.js';

/** The length of a struct cmsghdr with a 16-bit number. */
const SEGMENT_CONTROL_BYTES = 18;

/**
 * The messages of a batch as sendmmsg takes them when several become one send: for each group a header of its own, which
 * points to the parts of its messages in the arena, one behind the other.
 *
 *     headers × 64 │ iovecs × 64
 */
export class JoinedMessages {
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
