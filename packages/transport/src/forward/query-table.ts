import type { UpstreamQuery } from './query.js';
import type { ForwardedQuestion, QuestionKey } from './question.js';
import { networkOf } from './quota.js';

/**
 * Queries of one name and type that wait for replies at the same time, whatever else differs: each has IDs and
 * ports of its own, and one more that a forged reply could hit.
 */
const MAX_OPEN = 4;
/** Of these, variants, of which a client can make any number: the questions that most clients ask have the others. */
const MAX_OPEN_VARIANTS = 2;
/** Variants of one name and type that wait until one of those ends, and as many of the others. */
const MAX_QUEUED = 64;
const FIRST_BUCKETS = 64;

/** The queries that are in flight or linger, by the hash of the question, and in a list. */
export class QueryTable {
  /** The first query of a bucket, the oldest, which names the `following` one. */
  #buckets = new Array<UpstreamQuery | undefined>(FIRST_BUCKETS).fill(undefined);
  /** Each has its `index` here; the last one moves to the index of a removed one. */
  readonly #all: UpstreamQuery[] = [];

  /** A loop from the end to the beginning may remove them. */
  get all(): readonly UpstreamQuery[] {
    return this.#all;
  }

  /** The query that others with this key may join. */
  find(key: QuestionKey): UpstreamQuery | undefined {
    for (let each = this.#oldest(key.hash); each !== undefined; each = each.following) {
      if (each.question.isJoinedBy(key)) return each;
    }
    return undefined;
  }

  /**
   * Adds a new query, which is queued while there are too many of its question; false when no more can queue
   * (`evictable`). A lingering one makes room for it.
   */
  add(query: UpstreamQuery): boolean {
    const { question } = query;
    const { isVariant } = question;
    let open = 0;
    let openVariants = 0;
    let queued = 0;
    let lingering: UpstreamQuery | undefined;
    let lingeringVariant: UpstreamQuery | undefined;
    for (let each = this.#oldest(question.hash); each !== undefined; each = each.following) {
      if (!each.question.isNamedAs(question)) continue;
      const isLingering = each.state === 'lingering';
      if (each.state === 'queued') {
        if (each.question.isVariant === isVariant) queued++;
      } else {
        open++;
        if (isLingering) lingering ??= each;
        if (!each.question.isVariant) continue;
        openVariants++;
        if (isLingering) lingeringVariant ??= each;
      }
    }
    if (queued >= MAX_QUEUED) return false;
    query.hasSibling = open > 0;
    const isFullOfVariants = isVariant && openVariants >= MAX_OPEN_VARIANTS;
    if (isFullOfVariants || open >= MAX_OPEN) {
      const ended = isFullOfVariants ? lingeringVariant : lingering;
      if (ended === undefined) query.enqueue();
      else {
        ended.cancel();
        this.remove(ended);
      }
    }
    if (this.#all.length >= this.#buckets.length) this.#grow();
    this.#link(query);
    query.index = this.#all.push(query) - 1;
    return true;
  }

  /** Removes a query that is there; returns a queued one of the same question that may start now. */
  remove(query: UpstreamQuery): UpstreamQuery | undefined {
    const last = this.#all.pop()!;
    if (last !== query) {
      this.#all[query.index] = last;
      last.index = query.index;
    }
    query.index = -1;
    return this.#unlink(query);
  }

  /**
   * For one that cannot queue: the oldest queued one of the client that has most of them, and more than this one's would
   * have.
   */
  evictable(query: UpstreamQuery): UpstreamQuery | undefined {
    const owner = ownerOf(query);
    let own = 1;
    const queued = this.#queuedOf(query.question, query.question.isVariant);
    for (const each of queued) if (ownerOf(each) === owner) own++;
    // Most often a flood: no other can have more.
    if (own > queued.length / 2) return undefined;
    const counts = countOwners(queued);
    let found: UpstreamQuery | undefined;
    let most = own;
    for (const each of queued) {
      const count = counts.get(ownerOf(each))!;
      if (count <= most) continue;
      most = count;
      found = each;
    }
    return found;
  }

  /** Whether a query of the same question is queued. */
  hasQueued({ question }: UpstreamQuery): boolean {
    for (let each = this.#oldest(question.hash); each !== undefined; each = each.following) {
      if (each.state === 'queued' && each.question.isNamedAs(question)) return true;
    }
    return false;
  }

  #bucketOf(hash: number): number {
    return hash & (this.#buckets.length - 1);
  }

  #oldest(hash: number): UpstreamQuery | undefined {
    return this.#buckets[this.#bucketOf(hash)];
  }

  #link(query: UpstreamQuery): void {
    const bucket = this.#bucketOf(query.question.hash);
    let last = this.#buckets[bucket];
    if (last === undefined) {
      this.#buckets[bucket] = query;
      return;
    }
    while (last.following !== undefined) last = last.following;
    last.following = query;
  }

  #unlink(query: UpstreamQuery): UpstreamQuery | undefined {
    const { question } = query;
    let before: UpstreamQuery | undefined;
    let open = 0;
    let openVariants = 0;
    let hasQueued = false;
    for (let each = this.#oldest(question.hash); each !== undefined; each = each.following) {
      if (each.following === query) before = each;
      if (each === query || !each.question.isNamedAs(question)) continue;
      if (each.state === 'queued') hasQueued = true;
      else {
        open++;
        if (each.question.isVariant) openVariants++;
      }
    }
    if (before === undefined) this.#buckets[this.#bucketOf(question.hash)] = query.following;
    else before.following = query.following;
    query.following = undefined;
    if (!hasQueued || open >= MAX_OPEN) return undefined;
    // Neither kind waits until the other has ended: a variant is next when none is open.
    const variant = openVariants < MAX_OPEN_VARIANTS ? this.#next(question, true) : undefined;
    if (openVariants === 0 && variant !== undefined) return variant;
    return this.#next(question, false) ?? variant;
  }

  /** Of the queued ones the oldest of the client with the fewest. */
  #next(question: ForwardedQuestion, isVariant: boolean): UpstreamQuery | undefined {
    const queued = this.#queuedOf(question, isVariant);
    if (queued.length <= 1) return queued[0];
    const counts = countOwners(queued);
    let found: UpstreamQuery | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const each of queued) {
      const count = counts.get(ownerOf(each))!;
      if (count >= fewest) continue;
      fewest = count;
      found = each;
    }
    return found;
  }

  /** Those that are queued of a name and type, variants or the others, the oldest first. */
  #queuedOf(question: ForwardedQuestion, isVariant: boolean): UpstreamQuery[] {
    const queued: UpstreamQuery[] = [];
    for (let each = this.#oldest(question.hash); each !== undefined; each = each.following) {
      if (each.state !== 'queued' || each.question.isVariant !== isVariant) continue;
      if (each.question.isNamedAs(question)) queued.push(each);
    }
    return queued;
  }

  #grow(): void {
    const buckets = this.#buckets;
    this.#buckets = new Array<undefined>(buckets.length * 2).fill(undefined);
    for (const oldest of buckets) {
      for (let each = oldest; each !== undefined;) {
        const { following } = each;
        each.following = undefined;
        this.#link(each);
        each = following;
      }
    }
  }
}

/** Whose a query is: with IPv6 a client can have all addresses of its network. */
function ownerOf({ client }: UpstreamQuery): string {
  return networkOf(client) ?? client;
}

function countOwners(queries: readonly UpstreamQuery[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const query of queries) {
    const owner = ownerOf(query);
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return counts;
}
