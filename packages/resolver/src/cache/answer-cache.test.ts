import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  addressRecords,
  decodeMessage,
  encodeQuery,
  encodeReply,
  type ReplyRecord,
  type Response,
} from '@kube-dns/testkit';
import { encodeKey, FLAG, RCODE, readQuery, readUint16, TYPE } from '@kube-dns/wire';
import { address } from '../../test/stored-replies.js';
import { cname, CacheTestbed, SOA } from '../testing/cache-testbed.js';
import { askCache, PLAIN_RULES, storeReply } from '../testing/cached-answers.js';
import type { CachedEntry } from './answer-cache.js';
import { ReplyReader } from './reply-reader.js';

const out = new Uint8Array(65_535);
let testbed: CacheTestbed;

beforeEach(() => {
  testbed = new CacheTestbed();
});

describe('an answer in the cache', () => {
  it('is found by name and type', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    expect(testbed.ask('a.example')).toEqual({ texts: ['A 10.0.0.1'], ttls: [30] });
    expect(testbed.ask('a.example', 'AAAA')).toBeUndefined();
    expect(testbed.ask('b.example')).toBeUndefined();
    expect(testbed.ask('example')).toBeUndefined();
  });

  it('has AA when it was stored with it, and the answer of its target has not', () => {
    const reader = new ReplyReader(PLAIN_RULES);
    const answers = [cname('a.example', 'b.example'), address('b.example')];
    expect(reader.read(encodeReply(encodeQuery({ name: 'a.example' }), { answers }))).toBe(true);
    reader.answer.isAuthoritative = true;
    testbed.cache.store(reader.answer, () => true);
    const hasAa = (name: string) => {
      const hit = testbed.cache.lookup(readQuery(encodeQuery({ name })), out);
      return hit !== undefined && (readUint16(out, 2) & FLAG.AA) !== 0;
    };
    expect([hasAa('a.example'), hasAa('b.example')]).toEqual([true, false]);
  });

  it('is found whatever the case, and echoes the question’s', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    const hit = testbed.cache.lookup(readQuery(encodeQuery({ name: 'A.eXample' })), out);
    const { questions, answers } = decodeMessage(Buffer.from(out.subarray(0, hit!.length)));
    expect(questions[0]?.name).toBe('A.eXample');
    expect(answers[0]?.name).toBe('A.eXample');
  });

  it('is missing where it does not fit', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    const query = readQuery(encodeQuery({ name: 'a.example' }));
    const { length } = testbed.cache.lookup(query, out)!;
    expect(testbed.cache.lookup(query, new Uint8Array(length - 1))).toBeUndefined();
    expect(testbed.cache.lookup(query, new Uint8Array(length))?.length).toBe(length);
  });

  it('has TTLs that count down by whole seconds', () => {
    testbed.store('a.example', [
      { type: 'CNAME', ttl: 300, data: 'b.example' },
      { name: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
    ]);
    testbed.now += 0.9;
    expect(testbed.ask('a.example')?.ttls).toEqual([300, 30]);
    testbed.now += 0.1;
    expect(testbed.ask('a.example')?.ttls).toEqual([299, 29]);
    testbed.now += 28;
    expect(testbed.ask('a.example')?.ttls).toEqual([271, 1]);
  });

  it('is removed whole when its smallest TTL has passed', () => {
    testbed.store('a.example', [
      { type: 'CNAME', ttl: 300, data: 'b.example' },
      { name: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
    ]);
    testbed.now += 29.9;
    expect(testbed.has('a.example')).toBe(true);
    testbed.now += 0.1;
    expect([testbed.has('a.example'), testbed.has('b.example')]).toEqual([false, false]);
    expect(testbed.cache.recordCount).toBe(0);
  });

  it('is not cached with a TTL of 0 in it', () => {
    testbed.store('a.example', [
      ...addressRecords(30, '10.0.0.1'),
      ...addressRecords(0, '10.0.0.2'),
    ]);
    expect(testbed.has('a.example')).toBe(false);
    expect(testbed.cache.insertions).toBe(0);
  });

  it('is replaced by a newer one, TTL and all', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1', '10.0.0.2'));
    testbed.now += 10;
    testbed.store('a.example', addressRecords(60, '10.0.0.3'));
    expect(testbed.ask('a.example')).toEqual({ texts: ['A 10.0.0.3'], ttls: [60] });
    expect(testbed.cache.recordCount).toBe(1);
    expect(testbed.cache.insertions).toBe(3);
    expect(testbed.cache.evictions).toBe(0);
  });
});

describe('a negative answer in the cache', () => {
  it('serves every type, with its SOA counting down for itself', () => {
    testbed.deny('a.example');
    testbed.now += 4;
    for (const type of ['A', 'TXT', 'ANY', 'CNAME']) {
      const seen = askCache(testbed.cache, { name: 'a.example', type });
      expect(seen).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
      expect(seen?.authorities[0]).toMatch(/^example SOA .* 56$/);
    }
    testbed.now += 6;
    expect(testbed.has('a.example')).toBe(false);
  });

  it('of a type serves that type', () => {
    testbed.deny('a.example', { rcode: RCODE.NOERROR });
    expect(askCache(testbed.cache, 'a.example')).toMatchObject({ rcode: 'NOERROR', answers: [] });
    expect(testbed.ask('a.example', 'AAAA')).toBeUndefined();
  });

  it('after a CNAME applies to the target, too, and not to the CNAME itself', () => {
    testbed.deny('a.example', { answers: [cname('a.example', 'b.example')] });
    expect(askCache(testbed.cache, 'a.example')?.answers).toEqual([
      'a.example CNAME b.example 300',
    ]);
    expect(askCache(testbed.cache, 'b.example')).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
    expect(testbed.ask('a.example', 'CNAME')).toBeUndefined();
  });

  it('does not hide what is cached of another type, until that expires', () => {
    testbed.create(10, { maxStaleSeconds: 1_000 });
    testbed.store('a.example', addressRecords(5, '10.0.0.1'));
    testbed.deny('a.example');
    expect(testbed.ask('a.example')?.texts).toEqual(['A 10.0.0.1']);
    expect(askCache(testbed.cache, { name: 'a.example', type: 'AAAA' })?.rcode).toBe('NXDOMAIN');
    testbed.now += 5;
    expect(askCache(testbed.cache, 'a.example')?.rcode).toBe('NXDOMAIN');
  });

  it('after a CNAME is not stored when the target has cached records', () => {
    testbed.store('b.example', addressRecords(300, '10.0.0.1'));
    testbed.deny('a.example', { answers: [cname('a.example', 'b.example')] });
    expect(testbed.has('a.example')).toBe(false);
    expect(testbed.ask('b.example')?.texts).toEqual(['A 10.0.0.1']);
    expect(testbed.ask('b.example', 'AAAA')).toBeUndefined();
  });

  it('ends when the name exists again', () => {
    testbed.deny('a.example');
    storeReply(testbed.cache, { name: 'a.example', type: 'AAAA' }, { authorities: [SOA] });
    expect(askCache(testbed.cache, { name: 'a.example', type: 'AAAA' })?.rcode).toBe('NOERROR');
    expect(testbed.ask('a.example', 'TXT')).toBeUndefined();
  });

  it('counts two insertions, and one of the size: the SOA is the zone’s', () => {
    testbed.deny('a.example');
    expect([testbed.cache.insertions, testbed.cache.recordCount]).toEqual([2, 1]);
  });
});

describe('an answer with CNAMEs', () => {
  const CHAIN = [
    cname('a.example', 'b.example', 300),
    cname('b.example', 'c.example', 200),
    { ...addressRecords(100, '10.0.0.1')[0]!, name: 'c.example' },
  ];

  it('serves every name on the way', () => {
    testbed.store('a.example', CHAIN);
    testbed.now += 10;
    expect(testbed.ask('a.example')?.ttls).toEqual([290, 190, 90]);
    expect(testbed.ask('B.example')).toEqual({
      texts: ['CNAME c.example', 'A 10.0.0.1'],
      ttls: [190, 90],
    });
    expect(testbed.ask('c.example')).toEqual({ texts: ['A 10.0.0.1'], ttls: [90] });
  });

  it('counts each record once', () => {
    testbed.store('a.example', CHAIN);
    expect([testbed.cache.insertions, testbed.cache.recordCount]).toEqual([3, 3]);
  });

  it('is stored whole or not at all', () => {
    testbed.create(2);
    testbed.store('a.example', CHAIN);
    expect([testbed.cache.insertions, testbed.cache.recordCount]).toEqual([0, 0]);
  });

  it('has names that outlive a short-lived CNAME', () => {
    testbed.store('a.example', [cname('a.example', 'c.example', 5), CHAIN[2]!]);
    testbed.now += 5;
    expect(testbed.has('a.example')).toBe(false);
    expect(testbed.ask('c.example')?.ttls).toEqual([95]);
  });
});

describe('the order of records', () => {
  const addresses = ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3'];
  const order = () =>
    testbed
      .ask('a.example')!
      .texts.map((text) => text.at(-1))
      .join('');

  it('goes one further back with each answer', () => {
    testbed.store('a.example', addressRecords(30, ...addresses));
    expect(Array.from({ length: 6 }, order)).toEqual([
      ...['0123', '3012', '2301', '1230'],
      ...['0123', '3012'],
    ]);
  });

  it('is that of upstream where records do not rotate', () => {
    testbed.create(10, { rotatesRecords: false });
    testbed.store('a.example', addressRecords(30, ...addresses));
    expect(Array.from({ length: 3 }, order)).toEqual(['0123', '0123', '0123']);
  });

  it('rotates after the CNAMEs, for records of any length', () => {
    const target = (name: string, weight: number): ReplyRecord => ({
      name: 'b.example',
      type: 'SRV',
      ttl: 30,
      data: { priority: 0, weight, port: 1, target: name },
    });
    const records = [target('a.x', 1), target('long.long.example', 2), target('b.y', 3)];
    testbed.store('a.example', [cname('a.example', 'b.example'), ...records], 'SRV');
    const weights = () =>
      askCache(testbed.cache, { name: 'a.example', type: 'SRV' })!.answers.map(
        (text) => /"weight":(\d)/.exec(text)?.[1] ?? 'cname',
      );
    expect(weights()).toEqual(['cname', '1', '2', '3']);
    expect(weights()).toEqual(['cname', '3', '1', '2']);
    expect(weights()).toEqual(['cname', '2', '3', '1']);
    expect(weights()).toEqual(['cname', '1', '2', '3']);
  });
});

describe('the ceiling on sent TTLs', () => {
  it('bounds every TTL of an answer and not the cached one', () => {
    testbed.create(10, { maxTtlSeconds: 20 });
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    testbed.deny('b.example');
    expect(testbed.ask('a.example')?.ttls).toEqual([20]);
    expect(askCache(testbed.cache, 'b.example')?.authorities[0]).toMatch(/ 20$/);
    testbed.now += 15;
    expect(testbed.ask('a.example')?.ttls).toEqual([15]);
  });
});

describe('an expired answer', () => {
  it('is served with the expired TTL at 0 and marked as stale, for the time of the option', () => {
    testbed.create(10, { maxStaleSeconds: 100 });
    testbed.store('a.example', [
      cname('a.example', 'b.example'),
      { ...addressRecords(30, '10.0.0.1')[0]!, name: 'b.example' },
    ]);
    expect(testbed.ask('a.example')?.ttls).toEqual([300, 30]);
    expect(testbed.lookup('a.example')?.isStale).toBe(false);
    testbed.now += 30;
    expect(testbed.ask('a.example')?.ttls).toEqual([270, 0]);
    expect(testbed.lookup('a.example')?.isStale).toBe(true);
    testbed.now += 99.9;
    expect(testbed.has('a.example')).toBe(true);
    testbed.now += 0.1;
    expect(testbed.has('a.example')).toBe(false);
  });

  it('is served forever where there is no limit, and still removed for lack of space', () => {
    testbed.create(1, { maxStaleSeconds: Number.POSITIVE_INFINITY });
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    testbed.now += 1e9;
    expect(testbed.has('a.example')).toBe(true);
    testbed.store('b.example', addressRecords(30, '10.0.0.1'));
    expect(testbed.has('a.example')).toBe(false);
  });

  it('with a TTL of 0 from the start is good for the moment', () => {
    testbed.create(10, { maxStaleSeconds: 100 });
    storeReply(
      testbed.cache,
      { name: 'a' },
      { answers: addressRecords(0, '10.0.0.1') },
      { cachesZeroTtls: true },
    );
    expect(testbed.ask('a')?.ttls).toEqual([0]);
    expect(testbed.lookup('a')?.isStale).toBe(false);
    testbed.now += 1;
    expect(testbed.ask('a')?.ttls).toEqual([0]);
    expect(testbed.lookup('a')?.isStale).toBe(true);
  });
});

describe('an expired negative answer', () => {
  const STALE_RULES = { maxStaleSeconds: 100, staleTtlSeconds: 5 };

  /** Stores the answer to a question; `isOfCluster` says whose it is. */
  function keep(isOfCluster: boolean, response: Partial<Response>, type = 'A'): void {
    const reader = new ReplyReader(PLAIN_RULES);
    const reply = encodeReply(encodeQuery({ name: 'a.example', type }), response);
    if (!reader.read(reply)) throw new Error(type);
    reader.answer.isOfCluster = isOfCluster;
    testbed.cache.store(reader.answer, () => true);
  }

  const NXDOMAIN = { rcode: 'NXDOMAIN', authorities: [SOA] } as const;
  const stateOf = () => testbed.cache.inspect(encodeKey('a.example'), 11, TYPE.A);

  beforeEach(() => testbed.create(10, STALE_RULES));

  it('is given when it is NXDOMAIN of a name outside', () => {
    keep(false, NXDOMAIN);
    testbed.now += 10;
    expect(testbed.lookup('a.example')).toMatchObject({ isStale: true, isDenial: true });
    expect(stateOf()).toMatchObject({ state: 'expired', staleSecondsLeft: 100 });
  });

  it('is not given when it is NXDOMAIN of the cluster', () => {
    keep(true, NXDOMAIN);
    testbed.now += 9;
    expect(testbed.lookup('a.example')).toMatchObject({ isStale: false });
    testbed.now += 1;
    expect(testbed.lookup('a.example')).toBeUndefined();
    expect(stateOf()).toMatchObject({ state: 'gone', staleSecondsLeft: 0 });
  });

  it('is given when it is NODATA of the cluster', () => {
    keep(true, { authorities: [SOA] }, 'AAAA');
    testbed.now += 10;
    expect(testbed.lookup('a.example', 'AAAA')).toMatchObject({ isStale: true, isDenial: true });
  });

  it('hides an older answer of its name until both are gone', () => {
    keep(true, { answers: addressRecords(30, '10.0.0.1') });
    keep(true, NXDOMAIN, 'AAAA');
    testbed.now += 29;
    expect(testbed.ask('a.example')?.texts).toEqual(['A 10.0.0.1']);
    testbed.now += 1;
    expect(testbed.lookup('a.example')).toBeUndefined();
  });
});

describe('the size of the cache', () => {
  it('counts records, not answers', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    testbed.store('b.example', addressRecords(30, '10.0.0.4'));
    expect(testbed.cache.recordCount).toBe(4);
    expect(testbed.cache.insertions).toBe(4);
  });

  it('is never exceeded: the least recently used answers are evicted', () => {
    testbed.create(4);
    for (const name of ['a', 'b', 'c', 'd']) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.store('e', addressRecords(30, '10.0.0.1', '10.0.0.2'));
    expect(['a', 'b', 'c', 'd', 'e'].filter(testbed.has)).toEqual(['c', 'd', 'e']);
    expect(testbed.cache.recordCount).toBe(4);
    expect(testbed.cache.evictions).toBe(2);
  });

  it('counts a hit as use', () => {
    testbed.create(2);
    testbed.store('a', addressRecords(30, '10.0.0.1'));
    testbed.store('b', addressRecords(30, '10.0.0.1'));
    expect(testbed.has('a')).toBe(true);
    testbed.store('c', addressRecords(30, '10.0.0.1'));
    expect(['a', 'b', 'c'].filter(testbed.has)).toEqual(['a', 'c']);
  });

  it('counts as evicted answers, not records', () => {
    testbed.create(3);
    testbed.store('a', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    testbed.store('b', addressRecords(30, '10.0.0.1'));
    expect(testbed.cache.evictions).toBe(1);
    expect(testbed.cache.recordCount).toBe(1);
  });

  it('is at most half for expired answers where others need the room', () => {
    testbed.create(8, { maxStaleSeconds: 3_600, staleTtlSeconds: 30 });
    const old = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of ['x', 'y']) testbed.store(name, addressRecords(300, '10.0.0.1'));
    for (const name of old) testbed.store(name, addressRecords(5, '10.0.0.1'));
    testbed.now += 5;
    testbed.store('z', addressRecords(300, '10.0.0.1'));
    expect([...old, 'x', 'y', 'z'].filter(testbed.has)).toEqual([...old.slice(2), 'x', 'y', 'z']);
    expect(testbed.cache.evictions).toBe(0);
  });

  it('counts as evicted only unexpired answers', () => {
    testbed.create(2);
    testbed.store('a', addressRecords(5, '10.0.0.1'));
    testbed.store('b', addressRecords(30, '10.0.0.1'));
    testbed.now += 5;
    testbed.store('c', addressRecords(30, '10.0.0.1'));
    expect(testbed.cache.evictions).toBe(0);
    expect(testbed.has('b')).toBe(true);
    testbed.store('d', addressRecords(30, '10.0.0.1'));
    expect(testbed.cache.evictions).toBe(1);
  });

  it('is too small for an answer of more records, which leaves the others alone', () => {
    testbed.create(2);
    testbed.store('a', addressRecords(30, '10.0.0.1'));
    testbed.store('b', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    expect(['a', 'b'].filter(testbed.has)).toEqual(['a']);
    expect(testbed.cache.insertions).toBe(1);
  });

  it('can be 0: nothing is cached', () => {
    testbed.create(0);
    testbed.store('a', addressRecords(30, '10.0.0.1'));
    expect(testbed.has('a')).toBe(false);
    expect(testbed.cache.insertions).toBe(0);
  });
});

describe('the memory of the cache', () => {
  const longName = (i: number) => `${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.n${i}`;

  it('is bounded, whatever the answers: large ones are evicted sooner', () => {
    testbed.create(1_000);
    const text = {
      type: 'TXT',
      ttl: 30,
      data: Array.from({ length: 16 }, () => 'x'.repeat(250)),
    } as const;
    for (let i = 0; i < 600; i++) {
      const question = { name: longName(i), type: 'TXT' };
      storeReply(testbed.cache, question, { answers: [text] }, { isExtraType: () => true });
    }
    expect(testbed.cache.usedBytes).toBeLessThanOrEqual(512 * 1_000);
    expect(testbed.cache.takenBytes).toBeLessThan(1_000_000);
    expect(testbed.has(longName(1))).toBe(false);
    expect(testbed.ask(longName(599), 'TXT')).toBeDefined();
  });

  it('of 10,000 names of a cluster is less than 3 MiB', () => {
    testbed.create(10_000);
    for (let i = 0; i < 10_000; i++) {
      testbed.store(
        `service-${i}.namespace-${i % 50}.svc.cluster.local`,
        addressRecords(30, '10.0.0.1'),
      );
    }
    expect(testbed.cache.entryCount).toBe(10_000);
    expect(testbed.cache.takenBytes).toBeLessThan(3 * 1024 * 1024);
  });

  it('is taken at the first answer for all: later only names and records need more', () => {
    testbed.create(10_000);
    testbed.store(longName(0), addressRecords(30, '10.0.0.1'));
    const { takenBytes } = testbed.cache;
    for (let i = 1; i < 10_000; i++) testbed.store(longName(i), addressRecords(30, '10.0.0.1'));
    expect(testbed.cache.entryCount).toBe(10_000);
    expect(testbed.cache.takenBytes - takenBytes).toBeLessThan(1.1 * testbed.cache.usedBytes);
  });

  it('is released when answers are removed', () => {
    testbed.create(50);
    for (let i = 0; i < 50; i++) testbed.store(longName(i), addressRecords(30, '10.0.0.1'));
    const { takenBytes } = testbed.cache;
    for (let i = 50; i < 1_000; i++) testbed.store(longName(i), addressRecords(30, '10.0.0.1'));
    expect(testbed.cache.takenBytes).toBe(takenBytes);
  });
});

describe('clearing', () => {
  it('empties the cache and starts its counters again', () => {
    testbed.create(1);
    testbed.store('a', addressRecords(30, '10.0.0.1'));
    testbed.store('b', addressRecords(30, '10.0.0.1'));
    testbed.cache.clear();
    expect(testbed.has('b')).toBe(false);
    expect([testbed.cache.recordCount, testbed.cache.insertions, testbed.cache.evictions]).toEqual([
      0, 0, 0,
    ]);
    testbed.store('c', addressRecords(30, '10.0.0.1'));
    expect(testbed.has('c')).toBe(true);
  });

  it('leaves the counts since it was made', () => {
    testbed.create(1);
    const totals = () => {
      const { totalInsertions, totalEvictions } = testbed.cache.describe();
      return [totalInsertions, totalEvictions];
    };
    for (const name of ['a', 'b']) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.cache.clear();
    expect(totals()).toEqual([2, 1]);
    testbed.store('c', addressRecords(30, '10.0.0.1'));
    testbed.cache.clear();
    expect(totals()).toEqual([3, 1]);
  });

  it('leaves nothing in the order of use: the first answer stored then is the first to be evicted', () => {
    testbed.create(2);
    for (const name of ['a', 'b']) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.cache.clear();
    for (const name of ['c', 'd', 'e']) testbed.store(name, addressRecords(30, '10.0.0.1'));
    expect(['a', 'b', 'c', 'd', 'e'].filter(testbed.has)).toEqual(['d', 'e']);
    expect(testbed.cache.evictions).toBe(1);
  });

  it('leaves every place free once', () => {
    testbed.create(1_000);
    const names = Array.from({ length: 400 }, (_, i) => `n${i}`);
    for (const name of names.slice(0, 10)) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.cache.clear();
    for (const name of names) testbed.store(name, addressRecords(30, '10.0.0.1'));
    expect(names.filter((name) => !testbed.has(name))).toEqual([]);
    expect(testbed.cache.entryCount).toBe(400);
  });
});

describe('a cache that counts answers', () => {
  it('has as many answers as its size, with however many records each', () => {
    testbed.create(2, { countsAnswers: true });
    const addresses = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
    for (const name of ['a.example', 'b.example', 'c.example']) {
      testbed.store(name, addressRecords(30, ...addresses));
    }
    expect(testbed.cache.entryCount).toBe(2);
    expect(testbed.ask('a.example')).toBeUndefined();
    expect(testbed.ask('c.example')?.texts).toHaveLength(3);
  });

  it('says how many of them have no records', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    testbed.deny('b.example');
    testbed.deny('c.example');
    expect(testbed.cache).toMatchObject({ entryCount: 3, denialCount: 2 });
    testbed.store('b.example', addressRecords(30, '10.0.0.1'));
    expect(testbed.cache).toMatchObject({ entryCount: 3, denialCount: 1 });
    testbed.cache.clear();
    expect(testbed.cache.denialCount).toBe(0);
  });
});

/** What is known of an answer. */
function inspect(name: string, type: number = TYPE.A): CachedEntry | undefined {
  const key = encodeKey(name);
  return testbed.cache.inspect(key, key.length, type);
}

describe('an expired answer that is known to be wrong', () => {
  it.each([TYPE.A, 0])('is dropped with its denial, for a question of type %i', (type) => {
    testbed.create(10, { maxStaleSeconds: 100 });
    testbed.deny('a.example');
    testbed.deny('b.example');
    testbed.now += 10;
    const key = encodeKey('a.example');
    testbed.cache.dropExpired(key, key.length, type);
    expect(testbed.cache.entryCount).toBe(1);
    expect(testbed.has('a.example')).toBe(false);
  });

  it('stays until it has expired', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    const key = encodeKey('a.example');
    testbed.cache.dropExpired(key, key.length, TYPE.A);
    expect(testbed.has('a.example')).toBe(true);
  });
});

describe('looking at a cached answer', () => {
  it('shows its age, what is left of its TTL, and its records', () => {
    testbed.create(10);
    const owner = 'b.x';
    const addresses = addressRecords(100, '10.0.0.1', '10.0.0.2').map((each) => ({
      ...each,
      name: owner,
    }));
    testbed.store('a.x', [cname('a.x', owner), ...addresses]);
    testbed.now += 40;
    expect(inspect('a.x')).toMatchObject({
      state: 'fresh',
      rcode: RCODE.NOERROR,
      isNegative: false,
      cnames: 1,
      records: 2,
      ageSeconds: 40,
      lifetimeSeconds: 100,
      secondsLeft: 60,
      expiredSeconds: 0,
      hits: undefined,
      isPrefetched: false,
      subscription: 0,
    });
    expect(inspect('a.x', TYPE.AAAA)).toBeUndefined();
    expect(inspect('none.x')).toBeUndefined();
  });

  it('shows NXDOMAIN to every type, and NODATA to one', () => {
    testbed.create(10);
    testbed.deny('gone.example');
    testbed.deny('a.example', { rcode: RCODE.NOERROR });
    expect(inspect('gone.example', TYPE.SRV)).toMatchObject({
      isNxdomain: true,
      rcode: RCODE.NXDOMAIN,
    });
    const nodata = { isNxdomain: false, isNegative: true, records: 0 };
    expect(inspect('a.example')).toMatchObject(nodata);
    expect(inspect('a.example', TYPE.SRV)).toBeUndefined();
  });

  it('shows since when it has expired, and until when it is served', () => {
    testbed.create(10, { maxStaleSeconds: 3_600 });
    testbed.store('a.x', addressRecords(30, '10.0.0.1'));
    testbed.now += 42;
    expect(inspect('a.x')).toMatchObject({
      state: 'expired',
      expiredSeconds: 12,
      staleSecondsLeft: 3_588,
      secondsLeft: -12,
    });
  });

  it('shows one that is gone as long as it is not removed, which looking does not do', () => {
    testbed.create(10);
    testbed.store('a.x', addressRecords(30, '10.0.0.1'));
    testbed.now += 42;
    expect(inspect('a.x')).toMatchObject({
      state: 'gone',
      expiredSeconds: 12,
      staleSecondsLeft: 0,
    });
    expect(inspect('a.x')).toBeDefined();
    expect(testbed.cache.entryCount).toBe(1);
  });

  it('shows none that is being dropped', () => {
    testbed.create(10);
    testbed.store('a.x', addressRecords(30, '10.0.0.1'));
    testbed.cache.dropBelow(encodeKey('x'));
    expect(inspect('a.x')).toBeUndefined();
    testbed.cache.close();
  });

  it('counts no hit, moves no entry and rotates no records', () => {
    testbed.create(2, { countsHits: true });
    testbed.store('a.x', addressRecords(30, '10.0.0.1'));
    testbed.store('b.x', addressRecords(30, '10.0.0.2'));
    expect(testbed.ask('b.x')).toBeDefined();
    for (let i = 0; i < 10; i++) inspect('a.x');
    expect(inspect('a.x')).toMatchObject({ hits: 0 });
    expect(inspect('b.x')).toMatchObject({ hits: 1 });
    // The least recently used one is still a.x.
    testbed.store('c.x', addressRecords(30, '10.0.0.3'));
    expect([inspect('a.x'), inspect('b.x')]).toMatchObject([undefined, {}]);
  });
});

describe('counting the cached answers', () => {
  const zoneOf = (name: Uint8Array) => (name[1] === 0x61 ? 'a' : 'others');

  it('has numbers of each zone', async () => {
    testbed.create(20, { maxStaleSeconds: 100, countsHits: true });
    testbed.store('a.x', addressRecords(100, '10.0.0.1', '10.0.0.2'));
    testbed.store('b.x', addressRecords(5, '10.0.0.1'));
    testbed.deny('c.example');
    testbed.ask('a.x');
    testbed.now += 8;
    const counts = await testbed.cache.countBy(zoneOf);
    expect(Object.fromEntries(counts)).toMatchObject({
      a: { entries: 1, records: 2, negative: 0, stale: 0, hits: 1 },
      others: { entries: 2, records: 2, negative: 1, stale: 1, hits: 0 },
    });
  });

  it('looks at each entry once, and lets queries have their turns meanwhile', async () => {
    const count = 2_000;
    testbed.create(count);
    for (let i = 0; i < count; i++) {
      storeReply(testbed.cache, { name: `n${i}.x` }, { answers: addressRecords(60, '10.0.0.1') });
    }
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate'] });
    let turns = 0;
    let isOver = false;
    const note = () => {
      turns++;
      if (!isOver) setImmediate(note);
    };
    setImmediate(note);
    let looks = 0;
    const counts = await testbed.cache.countBy(() => {
      looks++;
      // Fifty entries take a millisecond.
      if (looks % 50 === 0) jest.advanceTimersByTime(1);
      return 'all';
    });
    isOver = true;
    jest.useRealTimers();
    expect(counts.get('all')?.entries).toBe(count);
    expect(looks).toBe(count);
    // 5 ms each at the most, and 256 entries at the least.
    expect(turns).toBeGreaterThanOrEqual(Math.floor(count / 2 / 256));
  });
});
