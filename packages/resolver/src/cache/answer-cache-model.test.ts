import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addressRecords } from '@kube-dns/testkit';
import { askCache, storeReply } from '../testing/cached-answers.js';
import { AnswerCache } from './answer-cache.js';

const STALE_TTL = 30;

let now = 0;
let cache: AnswerCache;

interface ModelEntry {
  readonly name: string;
  readonly records: number;
  readonly ttl: number;
  readonly storedAt: number;
}

/** The same with one list, the longest unused first. */
class Model {
  entries: ModelEntry[] = [];
  insertions = 0;
  evictions = 0;
  readonly #maxRecords: number;
  readonly #maxStale: number;
  #sweptAt = -1;

  constructor(maxRecords: number, maxStale: number) {
    this.#maxRecords = maxRecords;
    this.#maxStale = maxStale;
  }

  get recordCount(): number {
    return this.entries.reduce((sum, { records }) => sum + records, 0);
  }

  store(name: string, records: number, ttl: number): void {
    if (ttl === 0 || records > this.#maxRecords) return;
    this.entries = this.entries.filter((entry) => entry.name !== name);
    this.#sweep(records);
    while (this.recordCount + records > this.#maxRecords) {
      const gone = this.entries.shift()!;
      if (!this.#isGone(gone)) this.evictions++;
    }
    this.entries.push({ name, records, ttl, storedAt: now });
    this.insertions += records;
  }

  /** Answers that are gone, and expired ones beyond half, are removed before others; they are searched once a second. */
  #sweep(records: number): void {
    const second = Math.floor(now);
    if (this.recordCount + records <= this.#maxRecords || this.#sweptAt === second) return;
    this.#sweptAt = second;
    this.entries = this.entries.filter((entry) => !this.#isGone(entry));
    for (const entry of [...this.entries]) {
      const expired = this.entries.filter((each) => !isLive(each));
      const isTooMuch = expired.reduce((sum, each) => sum + each.records, 0) > this.#maxRecords / 2;
      if (isTooMuch && !isLive(entry)) this.entries.splice(this.entries.indexOf(entry), 1);
    }
  }

  #isGone({ storedAt, ttl }: ModelEntry): boolean {
    return now >= storedAt + ttl + this.#maxStale;
  }

  ttl(name: string): number | undefined {
    const found = this.entries.find((entry) => entry.name === name);
    if (found === undefined) return undefined;
    this.entries = this.entries.filter((entry) => entry !== found);
    if (this.#isGone(found)) return undefined;
    this.entries.push(found);
    if (!isLive(found))
      return Math.min(STALE_TTL, found.storedAt + found.ttl + this.#maxStale - now);
    return found.ttl - Math.floor(now - found.storedAt);
  }
}

function isLive({ storedAt, ttl }: ModelEntry): boolean {
  return now < storedAt + ttl;
}

function ttlOf(name: string): number | undefined {
  const text = askCache(cache, name)?.answers[0];
  return text === undefined ? undefined : Number(text.split(' ').at(-1));
}

describe('the cache, compared with a plain list', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constant('store'), name, fc.nat(3), fc.nat(12)) },
    { weight: 4, arbitrary: fc.tuple(fc.constant('ask'), name, fc.constant(0), fc.constant(0)) },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constant('wait'), name, fc.nat(4), fc.constant(0)),
    },
  );

  it('agrees after any sequence of storing, asking and waiting', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 8 }),
        fc.constantFrom(0, 0, 5, 60),
        fc.array(step, { maxLength: 60 }),
        (size, maxStaleSeconds, steps) => {
          now = 1_000;
          const nowSeconds = () => now;
          const staleTtlSeconds = STALE_TTL;
          cache = new AnswerCache({
            maxRecords: size,
            maxStaleSeconds,
            staleTtlSeconds,
            nowSeconds,
          });
          const model = new Model(size, maxStaleSeconds);
          for (const [action, what, amount, ttl] of steps) {
            if (action === 'wait') now += amount;
            else if (action === 'ask') expect(ttlOf(what)).toBe(model.ttl(what));
            else {
              const records = amount + 1;
              const addresses = Array.from({ length: records }, (_, i) => `10.0.0.${i}`);
              storeReply(cache, { name: what }, { answers: addressRecords(ttl, ...addresses) });
              model.store(what, records, ttl);
            }
            expect(cache.recordCount).toBe(model.recordCount);
            expect(cache.insertions).toBe(model.insertions);
            expect(cache.evictions).toBe(model.evictions);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
