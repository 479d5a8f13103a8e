import { MSG_TRUNC, SOL_UDP, UDP_GRO } from './constants.js';
import type { Libc } from './libc.js';

/** Messages of one batch, and slots of an arena; a message that is received can be several datagrams. */
export const SLOTS = 64;

/** struct mmsghdr of a 64-bit system; its parts below are offsets in 32-bit words. */
export const HEADER_BYTES = 64;
export const HEADER_WORDS = HEADER_BYTES / 4;
export const NAME = 0;
export const NAME_LENGTH = 2;
export const IOV = 4;
export const IOV_COUNT = 6;
export const CONTROL = 8;
export const CONTROL_LENGTH = 10;
const FLAGS = 12;
const MESSAGE_LENGTH = 14;

export const IOV_WORDS = 4;
export const IOV_LENGTH = 2;
/** A struct sockaddr_in6 and padding. */
export const NAME_WORDS = 8;
/** One control message with the address that a datagram was sent to: 40 bytes for IPv6, 32 for IPv4. */
export const PACKET_INFO_WORDS = 10;
/** One with the length of the segments: a struct cmsghdr, a number and padding. */
export const SEGMENT_CONTROL_WORDS = 6;
/** Between slots: at a power of two apart their starts would have the same few places in the processor's caches. */
const SLOT_GAP_BYTES = 128;
/** Of a struct cmsghdr. */
const CONTROL_LEVEL = 2;
const CONTROL_TYPE = 3;
const CONTROL_DATA = 4;
/** The two together. */
export const CONTROL_WORDS = PACKET_INFO_WORDS + SEGMENT_CONTROL_WORDS;

/**
 * Memory for recvmmsg and sendmmsg, allocated once: for each slot a message header that points to
 * the slot's address, control message and payload.
 *
 *     headers × 64 │ iovecs × 64 │ names × 64 │ controls × 64 │ payloads × 64 │ overhang
 *
 * A payload view extends over the following slots into the overhang, so that a rare large message can
 * be written in place; the following slots are not used then.
 */
export class MessageArena {
  /** All memory from the first header on; passed to the C library. */
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  /** The payload of each slot, with the bytes that it may extend over. */
  readonly payloads: readonly Uint8Array[];
  readonly slotBytes: number;
  readonly #namesAt: number;
  readonly #controlsAt: number;
  readonly #iovsAt: number;

  constructor(libc: Libc, slotBytes: number, overhangBytes: number) {
    this.slotBytes = slotBytes;
    this.#iovsAt = SLOTS * HEADER_WORDS;
    this.#namesAt = this.#iovsAt + SLOTS * IOV_WORDS;
    this.#controlsAt = this.#namesAt + SLOTS * NAME_WORDS;
    const payloadsAt = (this.#controlsAt + SLOTS * CONTROL_WORDS) * 4;
    const strideBytes = slotBytes + SLOT_GAP_BYTES;
    const memory = new ArrayBuffer(payloadsAt + SLOTS * strideBytes + overhangBytes);
    this.bytes = new Uint8Array(memory);
    this.words = new Int32Array(memory);
    const viewBytes = Math.max(slotBytes, overhangBytes);
    this.payloads = Array.from(
      { length: SLOTS },
      (_, slot) => new Uint8Array(memory, payloadsAt + slot * strideBytes, viewBytes),
    );
    this.#pointHeaders(libc.addressOf(this.bytes), payloadsAt, strideBytes);
  }

  /** The offset of the address of a slot's peer, in words. */
  nameAt(slot: number): number {
    return this.#namesAt + slot * NAME_WORDS;
  }

  /** The offset of the length of that address, in words. */
  nameLengthAt(slot: number): number {
    return slot * HEADER_WORDS + NAME_LENGTH;
  }

  controlAt(slot: number): number {
    return this.#controlsAt + slot * CONTROL_WORDS;
  }

  controlLengthAt(slot: number): number {
    return slot * HEADER_WORDS + CONTROL_LENGTH;
  }

  /** The length of a message that was received. */
  lengthOf(slot: number): number {
    return this.words[slot * HEADER_WORDS + MESSAGE_LENGTH]!;
  }

  flagsOf(slot: number): number {
    return this.words[slot * HEADER_WORDS + FLAGS]!;
  }

  /**
   * The length of each of the datagrams that came merged in this slot (UDP_GRO), the last of which may be shorter; 0 for one
   * datagram. Takes away the control message that says so, which is the first (Linux, udp_cmsg_recv in net/ipv4/udp.c).
   */
  takeSegmentBytes(slot: number): number {
    const { words } = this;
    const lengthAt = this.controlLengthAt(slot);
    if (words[lengthAt] === 0) return 0;
    const at = this.controlAt(slot);
    if (words[at + CONTROL_LEVEL] !== SOL_UDP || words[at + CONTROL_TYPE] !== UDP_GRO) return 0;
    const segmentBytes = words[at + CONTROL_DATA]!;
    words[lengthAt] = words[lengthAt]! - SEGMENT_CONTROL_WORDS * 4;
    words.copyWithin(at, at + SEGMENT_CONTROL_WORDS, at + CONTROL_WORDS);
    return segmentBytes;
  }

  /**
   * Makes the part of a received message from `at` on the datagram in its slot; one of more than `maxBytes` is cut. The
   * parts behind it stay as they are.
   */
  placeDatagram(slot: number, at: number, length: number, isCut: boolean, maxBytes: number): void {
    const bytes = Math.min(length, maxBytes);
    if (at > 0) moveToStart(this.payloads[slot]!, at, bytes);
    this.words[slot * HEADER_WORDS + MESSAGE_LENGTH] = bytes;
    this.words[slot * HEADER_WORDS + FLAGS] = isCut || bytes < length ? MSG_TRUNC : 0;
  }

  /** The offset of the part of memory that a slot's payload is, in words. */
  iovAt(slot: number): number {
    return this.#iovsAt + slot * IOV_WORDS;
  }

  payloadLengthOf(slot: number): number {
    return this.words[this.#iovsAt + slot * IOV_WORDS + IOV_LENGTH]!;
  }

  /** The length of a message to send, or the space to receive one. */
  setPayloadLength(slot: number, bytes: number): void {
    this.words[this.#iovsAt + slot * IOV_WORDS + IOV_LENGTH] = bytes;
  }

  /** Resets a slot to receive: the system has written the lengths of the last message there. */
  allowReceive(slot: number): void {
    this.words[slot * HEADER_WORDS + NAME_LENGTH] = NAME_WORDS * 4;
    this.words[slot * HEADER_WORDS + CONTROL_LENGTH] = CONTROL_WORDS * 4;
  }

  /** The headers from a slot on. */
  headersFrom(slot: number): Uint8Array {
    return slot === 0 ? this.bytes : this.bytes.subarray(slot * HEADER_BYTES);
  }

  #pointHeaders(start: bigint, payloadsAt: number, strideBytes: number): void {
    const pointers = new BigUint64Array(this.bytes.buffer, 0, payloadsAt / 8);
    const point = (wordAt: number, byteAt: number) => {
      pointers[wordAt / 2] = start + BigInt(byteAt);
    };
    for (let slot = 0; slot < SLOTS; slot++) {
      const header = slot * HEADER_WORDS;
      const iov = this.#iovsAt + slot * IOV_WORDS;
      point(header + NAME, this.nameAt(slot) * 4);
      point(header + IOV, iov * 4);
      this.words[header + IOV_COUNT] = 1;
      point(header + CONTROL, this.controlAt(slot) * 4);
      point(iov, payloadsAt + slot * strideBytes);
      this.setPayloadLength(slot, this.slotBytes);
      this.allowReceive(slot);
    }
  }
}

/** Up to this length a loop costs less than the call. */
const SHORT_BYTES = 64;

function moveToStart(bytes: Uint8Array, at: number, length: number): void {
  if (length > SHORT_BYTES) bytes.copyWithin(0, at, at + length);
  else for (let i = 0; i < length; i++) bytes[i] = bytes[at + i]!;
}
