import type { ChangeSource, Follower } from '@kube-dns/daemon';
import type { AnswerCache } from '../cache/answer-cache.js';
import type { CacheFollower } from '../cache/cache-follower.js';
import type { Epochs } from './epochs.js';
import type { Change } from './worker-messages.js';

/** What a change weighs that is not an entry, in bytes. */
const SMALL_BYTES = 64;

/** Tells workers what the leader has in memory: the cache, the addresses served, when to read hosts. */
export class MemoryFeed implements ChangeSource<Change>, CacheFollower {
  readonly batchWeight = 256 * 1024;
  /** A worker that is so far behind begins again with a snapshot. */
  readonly maxWaitingWeight = 8 * 1024 * 1024;
  readonly #cache: AnswerCache;
  readonly #epochs: Epochs;
  readonly #addresses: () => readonly string[];
  readonly #followers = new Set<Follower<Change>>();

  /** Follows the cache from now on. */
  constructor(cache: AnswerCache, epochs: Epochs, addresses: () => readonly string[]) {
    this.#cache = cache;
    this.#epochs = epochs;
    this.#addresses = addresses;
    cache.follower = this;
  }

  follow(follower: Follower<Change>): void {
    this.#followers.add(follower);
  }

  unfollow(follower: Follower<Change>): void {
    this.#followers.delete(follower);
  }

  *snapshot(): Generator<Change, void> {
    yield ['cleared', this.#epochs.cache];
    yield ['addresses', this.#addresses()];
    yield ['hosts'];
    for (const packed of this.#cache.snapshot()) yield ['stored', packed];
  }

  weightOf(change: Change): number {
    return change[0] === 'stored' ? change[1].length : SMALL_BYTES;
  }

  onStored(packed: Uint8Array): void {
    this.#tell(['stored', packed]);
  }

  onDropped(domain: Uint8Array): void {
    // A copy: a part of a larger buffer would be told with all of it.
    this.#tell(['dropped', new Uint8Array(domain), this.#epochs.beginCache()]);
  }

  onCleared(): void {
    this.#tell(['cleared', this.#epochs.beginCache()]);
  }

  /** Other hosts are in force. */
  tellHosts(): void {
    this.#epochs.beginHosts();
    this.#tell(['hosts']);
  }

  /** Other addresses are served. */
  tellAddresses(): void {
    this.#tell(['addresses', this.#addresses()]);
  }

  #tell(change: Change): void {
    for (const follower of this.#followers) follower(change);
  }
}
