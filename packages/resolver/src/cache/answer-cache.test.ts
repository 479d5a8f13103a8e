import { beforeEach, describe, expect, it } from '@jest/globals';
import { FLAG, RCODE, readUint16 } from '@kube-dns/wire';
import { address } from '../../test/stored-replies.js';
import { cname, CacheTestbed, SOA } from '../testing/cache-testbed.js';
import { askCache, PLAIN_RULES, storeReply } from '../testing/cached-answers.js';
import { readAnswer } from '../testing/client.js';
import { addressRecords, queryFor, responseFor, type WrittenRecord } from '../testing/messages.js';
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
    expect(reader.read(responseFor({ name: 'a.example' }, { answers }))).toBe(true);
    reader.answer.isAuthoritative = true;
    testbed.cache.store(reader.answer, () => true);
    const hasAa = (name: string) => {
      const hit = testbed.cache.lookup(queryFor({ name }), out);
      return hit !== undefined && (readUint16(out, 2) & FLAG.AA) !== 0;
    };
    expect([hasAa('a.example'), hasAa('b.example')]).toEqual([true, false]);
  });

  it('is found whatever the case, and echoes the question’s', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    const hit = testbed.cache.lookup(queryFor({ name: 'A.eXample' }), out);
    const { questions, answers } = readAnswer(Buffer.from(out.subarray(0, hit!.length)));
    expect(questions[0]?.name).toBe('A.eXample');
    expect(answers[0]?.name).toBe('A.eXample');
  });

  it('is missing where it does not fit', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    const query = queryFor({ name: 'a.example' });
    const { length } = testbed.cache.lookup(query, out)!;
    expect(testbed.cache.lookup(query, new Uint8Array(length - 1))).toBeUndefined();
    expect(testbed.cache.lookup(query, new Uint8Array(length))?.length).toBe(length);
  });

  it('has TTLs that count down by whole seconds', () => {
    testbed.store('a.example', [
      { type: 'CNAME', ttl: 300, data: 'b.example' },
      { owner: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
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
      { owner: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
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
    { ...addressRecords(100, '10.0.0.1')[0]!, owner: 'c.example' },
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
    const target = (name: string, weight: number): WrittenRecord => ({
      owner: 'b.example',
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
      { ...addressRecords(30, '10.0.0.1')[0]!, owner: 'b.example' },
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
