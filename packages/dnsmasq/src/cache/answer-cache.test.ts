import { beforeEach, describe, expect, it } from '@jest/globals';
import { RCODE } from '@kube-dns/wire';
import { askCache, storeReply } from '../../test/cached-answers.js';
import { readAnswer } from '../../test/client.js';
import {
  addressRecords,
  keyOf,
  queryFor,
  type Response,
  type WrittenRecord,
} from '../../test/messages.js';
import { until } from '../../test/until.js';
import { AnswerCache } from './answer-cache.js';
import type { AnswerCacheOptions } from './answer-cache-options.js';

const out = new Uint8Array(65_535);
let now = 0;
let cache: AnswerCache;

function createCache(maxRecords: number, more: Partial<AnswerCacheOptions> = {}): AnswerCache {
  now = 1_000;
  return new AnswerCache({ maxRecords, nowSeconds: () => now, ...more });
}

function store(name: string, answers: readonly WrittenRecord[], type = 'A'): void {
  storeReply(cache, { name, type }, { answers });
}

const alias = (owner: string, data: string, ttl = 300): WrittenRecord => ({
  owner,
  type: 'CNAME',
  ttl,
  data,
});

const SOA: WrittenRecord = {
  owner: 'example',
  type: 'SOA',
  ttl: 60,
  data: {
    mname: 'ns.example',
    rname: 'root.example',
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    minimum: 10,
  },
};

function deny(name: string, response: Partial<Response> = {}): void {
  storeReply(cache, { name }, { rcode: RCODE.NXDOMAIN, authorities: [SOA], ...response });
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

  it('is none where there is no room for it', () => {
    store('a.example', addressRecords(30, '10.0.0.1'));
    const query = queryFor({ name: 'a.example' });
    const length = cache.answer(query, out);
    expect(cache.answer(query, new Uint8Array(length - 1))).toBe(0);
    expect(cache.answer(query, new Uint8Array(length))).toBe(length);
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
    expect([has('a.example'), has('b.example')]).toEqual([false, false]);
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
    expect(has('b')).toBe(true);
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

describe('a denial in the cache', () => {
  it('serves every type, with its SOA counting down for itself', () => {
    deny('a.example');
    now += 4;
    for (const type of ['A', 'TXT', 'ANY', 'CNAME']) {
      const seen = askCache(cache, { name: 'a.example', type });
      expect(seen).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
      expect(seen?.authorities[0]).toMatch(/^example SOA .* 56$/);
    }
    now += 6;
    expect(has('a.example')).toBe(false);
  });

  it('of a type serves that type', () => {
    deny('a.example', { rcode: RCODE.NOERROR });
    expect(askCache(cache, 'a.example')).toMatchObject({ rcode: 'NOERROR', answers: [] });
    expect(ask('a.example', 'AAAA')).toBeUndefined();
  });

  it('behind an alias serves the target, too, and not the alias itself', () => {
    deny('a.example', { answers: [alias('a.example', 'b.example')] });
    expect(askCache(cache, 'a.example')?.answers).toEqual(['a.example CNAME b.example 300']);
    expect(askCache(cache, 'b.example')).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
    expect(ask('a.example', 'CNAME')).toBeUndefined();
  });

  it('hides what was known of the name, and ends when the name comes back', () => {
    store('a.example', addressRecords(300, '10.0.0.1'));
    deny('a.example');
    expect(askCache(cache, 'a.example')?.rcode).toBe('NXDOMAIN');
    storeReply(cache, { name: 'a.example', type: 'AAAA' }, { authorities: [SOA] });
    expect(askCache(cache, { name: 'a.example', type: 'AAAA' })?.rcode).toBe('NOERROR');
    expect(ask('a.example', 'TXT')).toBeUndefined();
  });

  it('counts two insertions, and one of the size: the SOA is the zone’s', () => {
    deny('a.example');
    expect([cache.insertions, cache.recordCount]).toEqual([2, 1]);
  });
});

describe('an answer with aliases', () => {
  const CHAIN = [
    alias('a.example', 'b.example', 300),
    alias('b.example', 'c.example', 200),
    { ...addressRecords(100, '10.0.0.1')[0]!, owner: 'c.example' },
  ];

  it('serves every name on the way', () => {
    store('a.example', CHAIN);
    now += 10;
    expect(ask('a.example')?.ttls).toEqual([290, 190, 90]);
    expect(ask('B.example')).toEqual({ texts: ['CNAME c.example', 'A 10.0.0.1'], ttls: [190, 90] });
    expect(ask('c.example')).toEqual({ texts: ['A 10.0.0.1'], ttls: [90] });
  });

  it('counts each record once', () => {
    store('a.example', CHAIN);
    expect([cache.insertions, cache.recordCount]).toEqual([3, 3]);
  });

  it('is kept whole or not at all', () => {
    cache = createCache(2);
    store('a.example', CHAIN);
    expect([cache.insertions, cache.recordCount]).toEqual([0, 0]);
  });

  it('has names that outlive a short alias', () => {
    store('a.example', [alias('a.example', 'c.example', 5), CHAIN[2]!]);
    now += 5;
    expect(has('a.example')).toBe(false);
    expect(ask('c.example')?.ttls).toEqual([95]);
  });
});

describe('the order of records', () => {
  const addresses = ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3'];
  const order = () =>
    ask('a.example')!
      .texts.map((text) => text.at(-1))
      .join('');

  it('goes one further back with each answer', () => {
    store('a.example', addressRecords(30, ...addresses));
    expect(Array.from({ length: 6 }, order)).toEqual([
      ...['0123', '3012', '2301', '1230'],
      ...['0123', '3012'],
    ]);
  });

  it('is that of upstream where records are not to be turned', () => {
    cache = createCache(10, { turnsRecords: false });
    store('a.example', addressRecords(30, ...addresses));
    expect(Array.from({ length: 3 }, order)).toEqual(['0123', '0123', '0123']);
  });

  it('turns behind the aliases, whatever the records’ lengths', () => {
    const target = (name: string, weight: number): WrittenRecord => ({
      owner: 'b.example',
      type: 'SRV',
      ttl: 30,
      data: { priority: 0, weight, port: 1, target: name },
    });
    const records = [target('a.x', 1), target('long.long.example', 2), target('b.y', 3)];
    store('a.example', [alias('a.example', 'b.example'), ...records], 'SRV');
    const weights = () =>
      askCache(cache, { name: 'a.example', type: 'SRV' })!.answers.map(
        (text) => /"weight":(\d)/.exec(text)?.[1] ?? 'alias',
      );
    expect(weights()).toEqual(['alias', '1', '2', '3']);
    expect(weights()).toEqual(['alias', '3', '1', '2']);
    expect(weights()).toEqual(['alias', '2', '3', '1']);
    expect(weights()).toEqual(['alias', '1', '2', '3']);
  });
});

describe('the ceiling on sent TTLs', () => {
  it('bounds every TTL of a cached answer and lets the kept one run on', () => {
    cache = createCache(10, { maxTtlSeconds: 20 });
    store('a.example', addressRecords(30, '10.0.0.1'));
    deny('b.example');
    expect(ask('a.example')?.ttls).toEqual([20]);
    expect(askCache(cache, 'b.example')?.authorities[0]).toMatch(/ 20$/);
    now += 15;
    expect(ask('a.example')?.ttls).toEqual([15]);
  });
});

describe('an answer past its time', () => {
  it('is served with the TTL that has passed at 0 and said to be stale, for as long as the option says', () => {
    cache = createCache(10, { maxStaleSeconds: 100 });
    store('a.example', [
      alias('a.example', 'b.example'),
      { ...addressRecords(30, '10.0.0.1')[0]!, owner: 'b.example' },
    ]);
    expect(ask('a.example')?.ttls).toEqual([300, 30]);
    expect(cache.isStale).toBe(false);
    now += 30;
    expect(ask('a.example')?.ttls).toEqual([270, 0]);
    expect(cache.isStale).toBe(true);
    now += 99.9;
    expect(has('a.example')).toBe(true);
    now += 0.1;
    expect(has('a.example')).toBe(false);
  });

  it('is served for ever where there is no limit, and still leaves for room', () => {
    cache = createCache(1, { maxStaleSeconds: Number.POSITIVE_INFINITY });
    store('a.example', addressRecords(30, '10.0.0.1'));
    now += 1e9;
    expect(has('a.example')).toBe(true);
    store('b.example', addressRecords(30, '10.0.0.1'));
    expect(has('a.example')).toBe(false);
  });

  it('with a TTL of 0 from the start is good for the moment', () => {
    cache = createCache(10, { maxStaleSeconds: 100 });
    storeReply(
      cache,
      { name: 'a' },
      { answers: addressRecords(0, '10.0.0.1') },
      { keepsZeroTtls: true },
    );
    expect(ask('a')?.ttls).toEqual([0]);
    expect(cache.isStale).toBe(false);
    now += 1;
    expect(ask('a')?.ttls).toEqual([0]);
    expect(cache.isStale).toBe(true);
  });
});

describe('dropping a domain', () => {
  const names = ['example', 'a.example', 'b.a.example', 'c.b.a.example', 'xa.example', 'a.other'];
  const known = () => names.filter(has);

  it('forgets the domain and what is below, and nothing else', () => {
    for (const name of names) store(name, addressRecords(30, '10.0.0.1'));
    cache.dropBelow(keyOf('a.example'));
    expect(known()).toEqual(['example', 'xa.example', 'a.other']);
    expect(cache.recordCount).toBe(3);
    expect(cache.evictions).toBe(0);
  });

  it('of the root forgets all', () => {
    for (const name of names) store(name, addressRecords(30, '10.0.0.1'));
    cache.dropBelow(Uint8Array.of(0));
    expect(known()).toEqual([]);
  });

  it('forgets every answer with an alias, which may lead there', () => {
    store('a.other', [
      alias('a.other', 'a.example'),
      { ...addressRecords(30, '10.0.0.1')[0]!, owner: 'a.example' },
    ]);
    cache.dropBelow(keyOf('a.example'));
    expect(known()).toEqual([]);
  });

  it('is true at once in a large cache, work that takes turns, and spares what comes later', async () => {
    cache = createCache(100_000);
    const count = 40_000;
    for (let i = 0; i < count; i++) store(`n${i}.a.example`, addressRecords(30, '10.0.0.1'));
    store('a.other', addressRecords(30, '10.0.0.1'));
    cache.dropBelow(keyOf('a.example'));
    cache.dropBelow(keyOf('b.example'));
    const left = cache.entryCount;
    expect(left).toBeGreaterThan(1);
    expect([0, count / 2, count - 1].filter((i) => has(`n${i}.a.example`))).toEqual([]);
    store('new.a.example', addressRecords(30, '10.0.0.1'));
    await until(() => cache.entryCount === 2);
    expect(has('new.a.example')).toBe(true);
    expect(has('a.other')).toBe(true);
  });

  it('ends with the cache', async () => {
    cache = createCache(100_000);
    for (let i = 0; i < 40_000; i++) store(`n${i}.a.example`, addressRecords(30, '10.0.0.1'));
    cache.dropBelow(keyOf('a.example'));
    cache.close();
    cache.close();
    const left = cache.entryCount;
    await new Promise((resolve) => setImmediate(resolve));
    expect(cache.entryCount).toBe(left);
  });
});

describe('the memory of the cache', () => {
  const longName = (i: number) => `${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.n${i}`;

  it('is bounded, whatever the answers: large ones leave sooner', () => {
    cache = createCache(1_000);
    const text = {
      type: 'TXT',
      ttl: 30,
      data: Array.from({ length: 16 }, () => 'x'.repeat(250)),
    } as const;
    for (let i = 0; i < 2_000; i++) {
      const question = { name: longName(i), type: 'TXT' };
      storeReply(cache, question, { answers: [text] }, { isExtraType: () => true });
    }
    expect(cache.usedBytes).toBeLessThanOrEqual(512 * 1_000);
    expect(cache.takenBytes).toBeLessThan(1_000_000);
    expect(has(longName(1))).toBe(false);
    expect(ask(longName(1_999), 'TXT')).toBeDefined();
  });

  it('of 10,000 names of a cluster is less than 3 MiB', () => {
    cache = createCache(10_000);
    for (let i = 0; i < 10_000; i++) {
      store(`service-${i}.namespace-${i % 50}.svc.cluster.local`, addressRecords(30, '10.0.0.1'));
    }
    expect(cache.entryCount).toBe(10_000);
    expect(cache.takenBytes).toBeLessThan(3 * 1024 * 1024);
  });

  it('comes back when answers leave', () => {
    cache = createCache(50);
    for (let i = 0; i < 50; i++) store(longName(i), addressRecords(30, '10.0.0.1'));
    const { takenBytes } = cache;
    for (let i = 50; i < 5_000; i++) store(longName(i), addressRecords(30, '10.0.0.1'));
    expect(cache.takenBytes).toBe(takenBytes);
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

  it('leaves nothing in the order of use: the first that comes then is the first to leave', () => {
    cache = createCache(2);
    for (const name of ['a', 'b']) store(name, addressRecords(30, '10.0.0.1'));
    cache.clear();
    for (const name of ['c', 'd', 'e']) store(name, addressRecords(30, '10.0.0.1'));
    expect(['a', 'b', 'c', 'd', 'e'].filter(has)).toEqual(['d', 'e']);
    expect(cache.evictions).toBe(1);
  });

  it('leaves every place free once', () => {
    cache = createCache(1_000);
    const names = Array.from({ length: 400 }, (_, i) => `n${i}`);
    for (const name of names.slice(0, 10)) store(name, addressRecords(30, '10.0.0.1'));
    cache.clear();
    for (const name of names) store(name, addressRecords(30, '10.0.0.1'));
    expect(names.filter((name) => !has(name))).toEqual([]);
    expect(cache.entryCount).toBe(400);
  });
});
