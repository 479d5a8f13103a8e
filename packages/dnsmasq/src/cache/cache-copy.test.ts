import { describe, expect, it } from '@jest/globals';
import { encodeKey, RCODE } from '@kube-dns/wire';
import fc from 'fast-check';
import { askCache, storeReply } from '../../test/cached-answers.js';
import {
  addressRecords,
  type Response,
  type WrittenRecord,
  soaRecord,
} from '../../test/messages.js';
import { AnswerCache } from './answer-cache.js';

const NAMES = ['a.x', 'b.x', 'c.y', 'x', 'y'];
const TYPES = ['A', 'AAAA', 'CNAME'];

let now = 0;
const createCache = () => new AnswerCache({ maxRecords: 100, nowSeconds: () => now });

/** A cache, and a copy that is told what happens as soon as it has joined. */
class Pair {
  readonly cache = createCache();
  readonly copy = createCache();
  #snapshot: Iterator<Uint8Array, void> | undefined;

  /** From now on; what is there comes bit by bit. */
  join(): void {
    this.cache.follower = {
      onStored: (packed) => this.copy.storeCopy(structuredClone(packed)),
      onDropped: (domain) => this.copy.dropBelow(domain),
      onCleared: () => this.copy.clear(),
    };
    this.copy.clear();
    this.#snapshot = this.cache.snapshot();
  }

  tell(count: number): void {
    for (let i = 0; i < count; i++) {
      const { value, done } = this.#snapshot?.next() ?? { done: true };
      if (done === true) return;
      this.copy.storeCopy(value);
    }
  }
}

function store(cache: AnswerCache, name: string, kind: number, ttl: number): void {
  const alias: WrittenRecord = { type: 'CNAME', ttl, data: 'c.y' };
  const responses: Response[] = [
    { answers: addressRecords(ttl, `10.0.0.${ttl}`) },
    { rcode: RCODE.NXDOMAIN, authorities: [soaRecord(40, name, 40)] },
    { answers: [alias, { owner: 'c.y', type: 'A', ttl, data: `10.0.1.${ttl}` }] },
    { authorities: [soaRecord(40, name, 40)] },
  ];
  storeReply(cache, { name }, responses[kind]!);
}

describe('a copy of the cache', () => {
  const name = fc.constantFrom(...NAMES);
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.constant('store'), name, fc.nat(3), fc.nat(9)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('wait'), name, fc.nat(5), fc.constant(0)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('tell'), name, fc.nat(3), fc.constant(0)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('drop'), name, fc.nat(0), fc.constant(0)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('clear'), name, fc.nat(0), fc.constant(0)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('join'), name, fc.nat(0), fc.constant(0)) },
  );

  it('never says what the cache does not, and the same when it was told all', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        now = 1_000;
        const pair = new Pair();
        const look = (isAll: boolean) => {
          for (const one of NAMES) {
            for (const type of TYPES) {
              const told = askCache(pair.copy, { name: one, type });
              if (isAll || told !== undefined) {
                expect(told).toEqual(askCache(pair.cache, { name: one, type }));
              }
            }
          }
        };
        for (const [action, what, amount, ttl] of steps) {
          if (action === 'store') store(pair.cache, what, amount, ttl + 1);
          else if (action === 'wait') now += amount;
          else if (action === 'tell') pair.tell(amount);
          else if (action === 'drop') pair.cache.dropBelow(encodeKey(what));
          else if (action === 'clear') pair.cache.clear();
          else pair.join();
          if (pair.cache.follower !== undefined) look(false);
        }
        if (pair.cache.follower === undefined) pair.join();
        pair.tell(Infinity);
        look(true);
        pair.cache.close();
        pair.copy.close();
      }),
      { numRuns: 300 },
    );
  });

  it('counts nothing as its own', () => {
    const pair = new Pair();
    pair.join();
    store(pair.cache, 'a.x', 0, 5);
    expect(pair.copy.recordCount).toBe(1);
    expect(pair.copy.insertions).toBe(0);
  });
});
