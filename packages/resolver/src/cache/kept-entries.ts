import type { AnnouncedChanges } from '@kube-dns/push';
import { finishHash, hashBytes, MAX_NAME_BYTES, randomSeed, suffixOffset } from '@kube-dns/wire';
import { NONE } from '../none.js';
import type { CacheableAnswer } from './cacheable-answer.js';
import type { EntryTable } from './entry-table.js';
import { EVERY_CHANGE, isAboveServices, ownerOffset } from './owner-of-name.js';

/** The most subscriptions that entries can have. */
export const MAX_SUBSCRIPTIONS = 127;
/** Added to the number of a subscription for entries that go with a change, and with their TTL, too. */
export const WITH_TTL = 128;
/** How long an entry is kept at most while its server tells changes. */
const MAX_KEPT_SECONDS = 3_600;
/** The owner of entries that any change drops. */
const ANY_OWNER = 0;

/** Who tells when answers change. */
export interface ChangeSource {
  /** The number of the subscription, from 1 to MAX_SUBSCRIPTIONS, or WITH_TTL more. */
  readonly number: number;
  /** The apex of the server's zone, lower-cased in wire form. */
  readonly apex: Uint8Array;
  readonly changes: AnnouncedChanges;
}

/**
 * When the server of each subscription, by its number, was heard last, in seconds by the cache's clock: every change
 * until then is known. -Infinity while the subscription does not live; WITH_TTL and above are never set.
 */
export type LastSeen = Float64Array;

/** With no subscription that lives. */
export function neverSeen(): LastSeen {
  return new Float64Array(2 * WITH_TTL).fill(Number.NEGATIVE_INFINITY);
}

/**
 * The entries whose server tells when they change: as long as it does they do not expire, and a change finds them by
 * their owner, the name whose changes change them.
 */
export class KeptEntries {
  readonly #table: EntryTable;
  readonly #heardAt: LastSeen;
  readonly #lastHeardAt: LastSeen;
  readonly #remove: (slot: number) => void;
  readonly #seed = randomSeed();
  readonly #lookedAt = new Uint8Array(MAX_NAME_BYTES);

  constructor(
    table: EntryTable,
    heardAt: LastSeen,
    lastHeardAt: LastSeen,
    remove: (slot: number) => void,
  ) {
    this.#table = table;
    this.#heardAt = heardAt;
    this.#lastHeardAt = lastHeardAt;
    this.#remove = remove;
  }

  /** Whether an entry is as good as new: it was right when its server was heard last, and that is within its TTL. */
  has(slot: number, now: number): boolean {
    const { subscription, storedAt, expiresAt } = this.#table.columns;
    const lifetime = expiresAt[slot]! - storedAt[slot]!;
    const isTrue = now < this.#heardAt[subscription[slot]!]! + lifetime;
    return isTrue && now < storedAt[slot]! + MAX_KEPT_SECONDS;
  }

  /** Until when an entry was right, as far as its server told; -Infinity where none did. */
  until(slot: number): number {
    const { subscription, storedAt } = this.#table.columns;
    return Math.min(this.#lastHeardAt[subscription[slot]!]!, storedAt[slot]! + MAX_KEPT_SECONDS);
  }

  /** Whether a reply with this serial knows every change of its answer that was told. */
  isCurrent(answer: CacheableAnswer, { apex, changes }: ChangeSource, serial: number): boolean {
    const owner = this.#ownerFor(answer, apex);
    return owner === ANY_OWNER ? changes.areAllKnown(serial) : changes.isKnown(owner, serial);
  }

  /** Keeps a new entry. */
  add(slot: number, answer: CacheableAnswer, { apex, number }: ChangeSource): void {
    this.#table.subscribe(slot, number, this.#ownerFor(answer, apex));
  }

  /**
   * Removes the entries that a change of a name (lower-cased, in wire form) with this serial may change: the name and
   * all below it, those above it, as they depend on whether it exists, and those that any change removes. They are
   * entries of this teller. Returns their number; those below the name of a namespace are the caller's to find.
   */
  change(name: Uint8Array, { apex, changes, number }: ChangeSource, serial: number): number {
    if (isAboveServices(name, apex)) changes.noteAll(serial);
    let count = this.#removeOwned(number, ANY_OWNER, undefined);
    const end = suffixOffset(name, name.length, apex);
    for (let at = 0; at === 0 || at < end; at += 1 + name[at]!) {
      const owner = this.#ownerOf(name, at, name.length);
      changes.note(owner, serial);
      count += this.#removeOwned(number, owner, name.subarray(at));
    }
    return count;
  }

  /** The answer of a CNAME depends on its target, too, which has another name. */
  #ownerFor({ name, nameLength, cnames }: CacheableAnswer, apex: Uint8Array): number {
    const at = cnames > 0 ? EVERY_CHANGE : ownerOffset(name, nameLength, apex);
    return at === EVERY_CHANGE ? ANY_OWNER : this.#ownerOf(name, at, nameLength);
  }

  #ownerOf(name: Uint8Array, start: number, end: number): number {
    // Not ANY_OWNER.
    return finishHash(hashBytes(this.#seed, name, start, end)) | 1;
  }

  /** Removes the entries with an owner that are at or below a name: another one may have the same hash. */
  #removeOwned(number: number, owner: number, name: Uint8Array | undefined): number {
    const table = this.#table;
    let count = 0;
    for (let slot = table.nextOfOwner(owner); slot !== NONE;) {
      const next = table.nextOfOwner(owner, slot);
      const isOwn = table.columns.subscription[slot]! % WITH_TTL === number;
      if (isOwn && (name === undefined || this.#isBelow(slot, name))) {
        this.#remove(slot);
        count++;
      }
      slot = next;
    }
    return count;
  }

  #isBelow(slot: number, name: Uint8Array): boolean {
    const length = this.#table.copyName(slot, this.#lookedAt, 0);
    return suffixOffset(this.#lookedAt, length, name) >= 0;
  }
}
