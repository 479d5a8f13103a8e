import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { askCache, storeReply } from '../../test/cached-answers.js';
import { addressRecords } from '../../test/messages.js';
import { AnswerCache } from './answer-cache.js';

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
  #sweptAt = -1;

  constructor(maxRecords: number) {
    this.#maxRecords = maxRecords;
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
      if (now < gone.storedAt + gone.ttl) this.evictions++;
    }
    this.entries.push({ name, records, ttl, storedAt: now });
    this.insertions += records;
  }

  /** Expired answers are removed before anything is evicted; they are searched once a second. */
  #sweep(records: number): void {
    const second = Math.floor(now);
    if (this.recordCount + records <= this.#maxRecords || this.#sweptAt === second) return;
    this.#sweptAt = second;
    this.entries = this.entries.filter(({ storedAt, ttl }) => now < storedAt + ttl);
  }

  ttl(name: string): number | undefined {
    const found = this.entries.find((entry) => entry.name === name);
    if (found === undefined) return undefined;
    this.entries = this.entries.filter((entry) => entry !== found);
    if (now >= found.storedAt + found.ttl) return undefined;
    this.entries.push(found);
    return found.ttl - Math.floor(now - found.storedAt);
  }
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
        fc.array(step, { maxLength: 60 }),
        (size, steps) => {
          now = 1_000;
          cache = new AnswerCache({ maxRecords: size, nowSeconds: () => now });
          const model = new Model(size);
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
