import type { ServerAddress } from '../server-address.js';
import type { ReplyHandler, SentQuery } from './server-sockets.js';

/** A query that went out as a datagram. */
export interface SentDatagram extends SentQuery {
  readonly id: number;
  /** The message; the ID in it is that of its last sending. */
  query: Buffer;
  readonly server: ServerAddress;
  readonly handler: ReplyHandler;
  /** Of the table: the next one of the same bucket. */
  next: SentDatagram | undefined;
}

const FIRST_BUCKETS = 16;

/** The queries in flight of one socket, by their IDs: those are random, so a bucket is the end of the ID. */
export class SentTable {
  #buckets = emptyBuckets(FIRST_BUCKETS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  find(id: number): SentDatagram | undefined {
    let sent = this.#buckets[id & (this.#buckets.length - 1)];
    while (sent !== undefined && sent.id !== id) sent = sent.next;
    return sent;
  }

  /** Adds one whose ID is free. */
  add(sent: SentDatagram): void {
    if (this.#size === this.#buckets.length) this.#grow();
    this.#size++;
    this.#link(sent);
  }

  /** Removes one; false when it is not in the table. */
  remove(sent: SentDatagram): boolean {
    const at = sent.id & (this.#buckets.length - 1);
    const first = this.#buckets[at];
    if (first === sent) this.#buckets[at] = sent.next;
    else {
      let before = first;
      while (before !== undefined && before.next !== sent) before = before.next;
      if (before === undefined) return false;
      before.next = sent.next;
    }
    sent.next = undefined;
    this.#size--;
    return true;
  }

  /** All of them now. */
  all(): SentDatagram[] {
    const all: SentDatagram[] = [];
    for (const first of this.#buckets) {
      for (let sent = first; sent !== undefined; sent = sent.next) all.push(sent);
    }
    return all;
  }

  clear(): void {
    this.#buckets = emptyBuckets(FIRST_BUCKETS);
    this.#size = 0;
  }

  #link(sent: SentDatagram): void {
    const at = sent.id & (this.#buckets.length - 1);
    sent.next = this.#buckets[at];
    this.#buckets[at] = sent;
  }

  #grow(): void {
    const all = this.all();
    this.#buckets = emptyBuckets(this.#buckets.length * 2);
    for (const sent of all) this.#link(sent);
  }
}

function emptyBuckets(count: number): (SentDatagram | undefined)[] {
  return new Array<SentDatagram | undefined>(count).fill(undefined);
}
