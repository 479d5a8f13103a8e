import { holdClock, releaseClock } from '../batch-clock.js';
import type { Libc } from './libc.js';
import { MessageArena, SLOTS } from './message-arena.js';
import { Offload } from './offload.js';
import { Outbox } from './outbox.js';
import { ReplyViews } from './reply-views.js';

/** The largest query or reply that is received whole; the rest of a larger one is lost. */
const SLOT_BYTES = 4_096;
/** This many batches are received from one socket in a row before the others' turn. */
const MAX_BATCHES = 8;

/** A socket as the hub receives from it. */
export interface HubSocket {
  readonly isClosed: boolean;
  /** Receives a batch; returns how many. */
  receive(inbox: MessageArena): number;
  /** Handles the datagram in this slot of the inbox. */
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
  readonly replies = new ReplyViews(SLOT_BYTES);
  /** Copies: queries to servers, and deferred answers. */
  readonly outgoing: Outbox;
  #isDraining = false;

  constructor(libc: Libc) {
    this.libc = libc;
    this.offload = new Offload(libc);
    this.inbox = new MessageArena(libc, SLOT_BYTES, 0);
    this.answers = new Outbox(libc);
    this.outgoing = new Outbox(libc);
  }

  /** Receives what waits in a socket, up to MAX_BATCHES, and sends the answers and queries that result. */
  drain(socket: HubSocket): void {
    this.#isDraining = true;
    try {
      for (let i = 0; i < MAX_BATCHES && !socket.isClosed; i++) {
        const count = this.#receive(socket);
        this.flush();
        if (count < SLOTS) break;
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

  #receive(socket: HubSocket): number {
    const { inbox } = this;
    const count = socket.receive(inbox);
    if (count > 0) holdClock();
    for (let slot = 0; slot < count && !socket.isClosed; slot++) socket.take(slot);
    for (let slot = 0; slot < count; slot++) inbox.allowReceive(slot);
    return count;
  }
}
