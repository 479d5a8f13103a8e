import { holdClock, releaseClock } from '../batch-clock.js';
import { MSG_TRUNC } from './constants.js';
import type { Libc } from './libc.js';
import { MessageArena, SLOTS } from './message-arena.js';
import { Offload } from './offload.js';
import { Outbox } from './outbox.js';
import { ReplyViews } from './reply-views.js';

/** The largest query or reply that is received whole; the rest of a larger one is lost. */
const MAX_DATAGRAM_BYTES = 4_096;
/** Datagrams that come merged are this long together at most; pages that nothing is received into take no memory. */
const MERGED_BYTES = 65_536;
/** So many datagrams are received from one socket in a row before the others' turn; the last batch is handled whole. */
const MAX_DATAGRAMS = 8 * SLOTS;

/** A socket as the hub receives from it. */
export interface HubSocket {
  readonly isClosed: boolean;
  /** Receives a batch; returns how many. */
  receive(inbox: MessageArena): number;
  /** Handles the datagram in this slot of the inbox. What is behind it there can be the next one. */
  take(slot: number): void;
}

/**
 * What the sockets of a batch engine share: the memory for received and for sent batches. One batch at a
 * time is received, answered and sent.
 */
export class BatchHub {
  readonly libc: Libc;
  readonly offload: Offload;
  readonly inbox: MessageArena;
  /** Answers written in place while a batch is handled. */
  readonly answers: Outbox;
  /** The reply of a server that is being handled. */
  readonly replies = new ReplyViews(MAX_DATAGRAM_BYTES);
  /** Copies: queries to servers, and deferred answers. */
  readonly outgoing: Outbox;
  #isDraining = false;
  #batches = 0;

  constructor(libc: Libc) {
    this.libc = libc;
    this.offload = new Offload(libc);
    const slotBytes = this.offload.canMerge ? MERGED_BYTES : MAX_DATAGRAM_BYTES;
    this.inbox = new MessageArena(libc, slotBytes, 0);
    this.answers = new Outbox(libc);
    this.outgoing = new Outbox(libc);
  }

  /** See `UdpEngine.batch`. */
  get batch(): number {
    return this.#isDraining ? this.#batches : 0;
  }

  /** Receives what waits in a socket, up to MAX_DATAGRAMS, and sends the answers and queries that result. */
  drain(socket: HubSocket): void {
    this.#isDraining = true;
    try {
      for (let datagrams = 0; datagrams < MAX_DATAGRAMS && !socket.isClosed;) {
        this.#batches++;
        const messages = socket.receive(this.inbox);
        if (messages > 0) holdClock();
        datagrams += this.#takeAll(socket, messages);
        this.flush();
        if (messages < SLOTS) break;
      }
    } finally {
      releaseClock();
      this.#isDraining = false;
      this.flush();
    }
  }

  /** Runs `work`, which sends deferred answers, and sends these together. */
  together(work: () => void): void {
    const wasDraining = this.#isDraining;
    if (!wasDraining) this.#batches++;
    this.#isDraining = true;
    try {
      work();
    } finally {
      this.#isDraining = wasDraining;
      this.flushSoon();
    }
  }

  /** Sends what waits, unless the end of the current batch does so anyway. */
  flushSoon(): void {
    if (!this.#isDraining) this.flush();
  }

  /** Sends what waits. */
  flush(): void {
    this.answers.flush();
    this.outgoing.flush();
  }

  /** Returns how many datagrams the messages are. */
  #takeAll(socket: HubSocket, messages: number): number {
    const { inbox } = this;
    let datagrams = 0;
    for (let slot = 0; slot < messages; slot++) {
      const segmentBytes = inbox.takeSegmentBytes(slot);
      datagrams += this.#takeMessage(socket, slot, segmentBytes || inbox.lengthOf(slot));
      inbox.allowReceive(slot);
    }
    return datagrams;
  }

  #takeMessage(socket: HubSocket, slot: number, segmentBytes: number): number {
    const { inbox } = this;
    const length = inbox.lengthOf(slot);
    const isCut = (inbox.flagsOf(slot) & MSG_TRUNC) !== 0;
    let datagrams = 0;
    let at = 0;
    do {
      if (socket.isClosed) break;
      const bytes = Math.min(segmentBytes, length - at);
      const isLast = at + bytes === length;
      inbox.placeDatagram(slot, at, bytes, isCut && isLast, MAX_DATAGRAM_BYTES);
      socket.take(slot);
      datagrams++;
      at += bytes;
    } while (at < length);
    return datagrams;
  }
}
