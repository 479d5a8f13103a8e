import { randomId } from '../random-id.js';
import type { EncryptedQuery } from './encrypted-query.js';

/** The part of an ID that says where its query is; the other bits are random. */
const SLOT_BITS = 10;
const SLOT_MASK = 2 ** SLOT_BITS - 1;

/**
 * The queries of a connection by their IDs, 1,024 at most. A Map would be half of the cost of a query: V8 replaces its
 * table again and again, and each old table keeps the next one and all that it had until the next full collection.
 */
export class UnderWay {
  readonly #slots: (EncryptedQuery | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#slots.length - this.#free.length;
  }

  /** Adds a query, which gets an ID that no other has. */
  add(sent: EncryptedQuery): void {
    const slot = this.#free.pop() ?? this.#slots.length;
    this.#slots[slot] = sent;
    sent.id = (randomId() & ~SLOT_MASK) | slot;
  }

  get(id: number): EncryptedQuery | undefined {
    const sent = this.#slots[id & SLOT_MASK];
    return sent?.id === id ? sent : undefined;
  }

  /** Removes a query that is there. */
  remove({ id }: EncryptedQuery): void {
    const slot = id & SLOT_MASK;
    this.#slots[slot] = undefined;
    this.#free.push(slot);
  }

  /** All of them, in any order. */
  list(): EncryptedQuery[] {
    return this.#slots.filter((sent) => sent !== undefined);
  }
}
