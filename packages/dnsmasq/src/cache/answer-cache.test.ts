import { beforeEach, describe, expect, it } from '@jest/globals';
import { StoredAnswer, TYPE } from '@kube-dns/wire';
import fc from 'fast-check';
import { readAnswer } from '../../test/client.js';
import {
  addressRecords,
  keyOf,
  queryFor,
  responseFor,
  type WrittenRecord,
} from '../../test/messages.js';
import { AnswerCache } from './answer-cache.js';

const out = new Uint8Array(65_535);
let now = 0;
let cache: AnswerCache;

function createCache(maxRecords: number): AnswerCache {
  now = 1_000;
  return new AnswerCache({ maxRecords, nowSeconds: () => now });
}

function store(name: string, answers: readonly WrittenRecord[], type: number = TYPE.A): void {
  const response = responseFor({ name }, { answers });
  cache.store(keyOf(name), type, StoredAnswer.fromResponse(response, response.length)!);
}

/** The records and TTLs of an answer; undefined when there is none. */
function ask(name: string, type = 'A') {
  const length = cache.answer(queryFor({ name, type }), out);
  if (length === 0) return undefined;
  const { texts, ttls } = readAnswer(Buffer.from(out.subarray(0, length)));
  return { texts, ttls };
}

const has = (name: string) => ask(name) !== undefined;

beforeEach(() => {
  cache = createCache(10);
});

describe('an answer in the cache', () => {
  it('is found by name and type', () => {
    store('a.example', addressRecords(30, '10.0.0.1'));
    expect(ask('a.example')).toEqual({ texts: ['A 10.0.0.1'], ttls: [30] });
    expect(ask('a.example', 'AAAA')).toBeUndefined();
    expect(ask('b.example')).toBeUndefined();
    expect(ask('example')).toBeUndefined();
  });

  it('is found whatever the case, and echoes the question’s', () => {
    store('a.example', addressRecords(30, '10.0.0.1'));
    const length = cache.answer(queryFor({ name: 'A.eXample' }), out);
    const { questions, answers } = readAnswer(Buffer.from(out.subarray(0, length)));
    expect(questions[0]?.name).toBe('A.eXample');
    expect(answers[0]?.name).toBe('A.eXample');
  });

  it('has TTLs that count down by whole seconds', () => {
    store('a.example', [
      { type: 'CNAME', ttl: 300, data: 'b.example' },
      { owner: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
    ]);
    now += 0.9;
    expect(ask('a.example')?.ttls).toEqual([300, 30]);
    now += 0.1;
    expect(ask('a.example')?.ttls).toEqual([299, 29]);
    now += 28;
    expect(ask('a.example')?.ttls).toEqual([271, 1]);
  });

  it('leaves whole when its smallest TTL has passed', () => {
    store('a.example', [
      { type: 'CNAME', ttl: 300, data: 'b.example' },
      { owner: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
    ]);
    now += 29.9;
    expect(has('a.example')).toBe(true);
    now += 0.1;
    expect(has('a.example')).toBe(false);
    expect(cache.recordCount).toBe(0);
  });

  it('is not kept with a TTL of 0 in it', () => {
    store('a.example', [...addressRecords(30, '10.0.0.1'), ...addressRecords(0, '10.0.0.2')]);
    expect(has('a.example')).toBe(false);
    expect(cache.insertions).toBe(0);
  });

  it('is replaced by a newer one, TTL and all', () => {
    store('a.example', addressRecords(30, '10.0.0.1', '10.0.0.2'));
    now += 10;
    store('a.example', addressRecords(60, '10.0.0.3'));
    expect(ask('a.example')).toEqual({ texts: ['A 10.0.0.3'], ttls: [60] });
    expect(cache.recordCount).toBe(1);
    expect(cache.insertions).toBe(3);
    expect(cache.evictions).toBe(0);
  });
});

describe('the size of the cache', () => {
  it('counts records, not answers', () => {
    store('a.example', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    store('b.example', addressRecords(30, '10.0.0.4'));
    expect(cache.recordCount).toBe(4);
    expect(cache.insertions).toBe(4);
  });

  it('is never exceeded: the answers longest unused leave', () => {
    cache = createCache(4);
    for (const name of ['a', 'b', 'c', 'd']) store(name, addressRecords(30, '10.0.0.1'));
    store('e', addressRecords(30, '10.0.0.1', '10.0.0.2'));
    expect(['a', 'b', 'c', 'd', 'e'].filter(has)).toEqual(['c', 'd', 'e']);
    expect(cache.recordCount).toBe(4);
    expect(cache.evictions).toBe(2);
  });

  it('counts a hit as use', () => {
    cache = createCache(2);
    store('a', addressRecords(30, '10.0.0.1'));
    store('b', addressRecords(30, '10.0.0.1'));
    expect(has('a')).toBe(true);
    store('c', addressRecords(30, '10.0.0.1'));
    expect(['a', 'b', 'c'].filter(has)).toEqual(['a', 'c']);
  });

  it('counts as evicted answers, not records', () => {
    cache = createCache(3);
    store('a', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    store('b', addressRecords(30, '10.0.0.1'));
    expect(cache.evictions).toBe(1);
    expect(cache.recordCount).toBe(1);
  });

  it('counts as evicted only what had time left', () => {
    cache = createCache(2);
    store('a', addressRecords(5, '10.0.0.1'));
    store('b', addressRecords(30, '10.0.0.1'));
    now += 5;
    store('c', addressRecords(30, '10.0.0.1'));
    expect(cache.evictions).toBe(0);
    store('d', addressRecords(30, '10.0.0.1'));
    expect(cache.evictions).toBe(1);
  });

  it('is too small for an answer of more records, which leaves the others alone', () => {
    cache = createCache(2);
    store('a', addressRecords(30, '10.0.0.1'));
    store('b', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    expect(['a', 'b'].filter(has)).toEqual(['a']);
    expect(cache.insertions).toBe(1);
  });

  it('can be 0: nothing is kept', () => {
    cache = createCache(0);
    store('a', addressRecords(30, '10.0.0.1'));
    expect(has('a')).toBe(false);
    expect(cache.insertions).toBe(0);
  });
});

describe('clearing', () => {
  it('empties the cache and starts its counters again', () => {
    cache = createCache(1);
    store('a', addressRecords(30, '10.0.0.1'));
    store('b', addressRecords(30, '10.0.0.1'));
    cache.clear();
    expect(has('b')).toBe(false);
    expect([cache.recordCount, cache.insertions, cache.evictions]).toEqual([0, 0, 0]);
    store('c', addressRecords(30, '10.0.0.1'));
    expect(has('c')).toBe(true);
  });
});

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

  constructor(maxRecords: number) {
    this.#maxRecords = maxRecords;
  }

  get recordCount(): number {
    return this.entries.reduce((sum, { records }) => sum + records, 0);
  }

  store(name: string, records: number, ttl: number): void {
    if (ttl === 0 || records > this.#maxRecords) return;
    this.entries = this.entries.filter((entry) => entry.name !== name);
    while (this.recordCount + records > this.#maxRecords) {
      const gone = this.entries.shift()!;
      if (now < gone.storedAt + gone.ttl) this.evictions++;
    }
    this.entries.push({ name, records, ttl, storedAt: now });
    this.insertions += records;
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

describe('the cache, beside a plain list', () => {
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
          cache = createCache(size);
          const model = new Model(size);
          for (const [action, what, amount, ttl] of steps) {
            if (action === 'wait') now += amount;
            else if (action === 'ask') expect(ask(what)?.ttls[0]).toBe(model.ttl(what));
            else {
              const records = amount + 1;
              const addresses = Array.from({ length: records }, (_, i) => `10.0.0.${i}`);
              store(what, addressRecords(ttl, ...addresses));
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
