import { beforeEach, describe, expect, it } from '@jest/globals';
import { RCODE } from '@kube-dns/wire';
import { alias, CacheBed, SOA } from '../../test/cache-bed.js';
import { askCache, storeReply } from '../../test/cached-answers.js';
import { readAnswer } from '../../test/client.js';
import { addressRecords, queryFor, type WrittenRecord } from '../../test/messages.js';

const out = new Uint8Array(65_535);
let bed: CacheBed;

beforeEach(() => {
  bed = new CacheBed();
});

describe('an answer in the cache', () => {
  it('is found by name and type', () => {
    bed.store('a.example', addressRecords(30, '10.0.0.1'));
    expect(bed.ask('a.example')).toEqual({ texts: ['A 10.0.0.1'], ttls: [30] });
    expect(bed.ask('a.example', 'AAAA')).toBeUndefined();
    expect(bed.ask('b.example')).toBeUndefined();
    expect(bed.ask('example')).toBeUndefined();
  });

  it('is found whatever the case, and echoes the question’s', () => {
    bed.store('a.example', addressRecords(30, '10.0.0.1'));
    const length = bed.cache.answer(queryFor({ name: 'A.eXample' }), out);
    const { questions, answers } = readAnswer(Buffer.from(out.subarray(0, length)));
    expect(questions[0]?.name).toBe('A.eXample');
    expect(answers[0]?.name).toBe('A.eXample');
  });

  it('is missing where it does not fit', () => {
    bed.store('a.example', addressRecords(30, '10.0.0.1'));
    const query = queryFor({ name: 'a.example' });
    const length = bed.cache.answer(query, out);
    expect(bed.cache.answer(query, new Uint8Array(length - 1))).toBe(0);
    expect(bed.cache.answer(query, new Uint8Array(length))).toBe(length);
  });

  it('has TTLs that count down by whole seconds', () => {
    bed.store('a.example', [
      { type: 'CNAME', ttl: 300, data: 'b.example' },
      { owner: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
    ]);
    bed.now += 0.9;
    expect(bed.ask('a.example')?.ttls).toEqual([300, 30]);
    bed.now += 0.1;
    expect(bed.ask('a.example')?.ttls).toEqual([299, 29]);
    bed.now += 28;
    expect(bed.ask('a.example')?.ttls).toEqual([271, 1]);
  });

  it('is removed whole when its smallest TTL has passed', () => {
    bed.store('a.example', [
      { type: 'CNAME', ttl: 300, data: 'b.example' },
      { owner: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
    ]);
    bed.now += 29.9;
    expect(bed.has('a.example')).toBe(true);
    bed.now += 0.1;
    expect([bed.has('a.example'), bed.has('b.example')]).toEqual([false, false]);
    expect(bed.cache.recordCount).toBe(0);
  });

  it('is not cached with a TTL of 0 in it', () => {
    bed.store('a.example', [...addressRecords(30, '10.0.0.1'), ...addressRecords(0, '10.0.0.2')]);
    expect(bed.has('a.example')).toBe(false);
    expect(bed.cache.insertions).toBe(0);
  });

  it('is replaced by a newer one, TTL and all', () => {
    bed.store('a.example', addressRecords(30, '10.0.0.1', '10.0.0.2'));
    bed.now += 10;
    bed.store('a.example', addressRecords(60, '10.0.0.3'));
    expect(bed.ask('a.example')).toEqual({ texts: ['A 10.0.0.3'], ttls: [60] });
    expect(bed.cache.recordCount).toBe(1);
    expect(bed.cache.insertions).toBe(3);
    expect(bed.cache.evictions).toBe(0);
  });
});

describe('a negative answer in the cache', () => {
  it('serves every type, with its SOA counting down for itself', () => {
    bed.deny('a.example');
    bed.now += 4;
    for (const type of ['A', 'TXT', 'ANY', 'CNAME']) {
      const seen = askCache(bed.cache, { name: 'a.example', type });
      expect(seen).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
      expect(seen?.authorities[0]).toMatch(/^example SOA .* 56$/);
    }
    bed.now += 6;
    expect(bed.has('a.example')).toBe(false);
  });

  it('of a type serves that type', () => {
    bed.deny('a.example', { rcode: RCODE.NOERROR });
    expect(askCache(bed.cache, 'a.example')).toMatchObject({ rcode: 'NOERROR', answers: [] });
    expect(bed.ask('a.example', 'AAAA')).toBeUndefined();
  });

  it('after a CNAME applies to the target, too, and not to the CNAME itself', () => {
    bed.deny('a.example', { answers: [alias('a.example', 'b.example')] });
    expect(askCache(bed.cache, 'a.example')?.answers).toEqual(['a.example CNAME b.example 300']);
    expect(askCache(bed.cache, 'b.example')).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
    expect(bed.ask('a.example', 'CNAME')).toBeUndefined();
  });

  it('hides older answers for the name, and ends when the name exists again', () => {
    bed.store('a.example', addressRecords(300, '10.0.0.1'));
    bed.deny('a.example');
    expect(askCache(bed.cache, 'a.example')?.rcode).toBe('NXDOMAIN');
    storeReply(bed.cache, { name: 'a.example', type: 'AAAA' }, { authorities: [SOA] });
    expect(askCache(bed.cache, { name: 'a.example', type: 'AAAA' })?.rcode).toBe('NOERROR');
    expect(bed.ask('a.example', 'TXT')).toBeUndefined();
  });

  it('counts two insertions, and one of the size: the SOA is the zone’s', () => {
    bed.deny('a.example');
    expect([bed.cache.insertions, bed.cache.recordCount]).toEqual([2, 1]);
  });
});

describe('an answer with CNAMEs', () => {
  const CHAIN = [
    alias('a.example', 'b.example', 300),
    alias('b.example', 'c.example', 200),
    { ...addressRecords(100, '10.0.0.1')[0]!, owner: 'c.example' },
  ];

  it('serves every name on the way', () => {
    bed.store('a.example', CHAIN);
    bed.now += 10;
    expect(bed.ask('a.example')?.ttls).toEqual([290, 190, 90]);
    expect(bed.ask('B.example')).toEqual({
      texts: ['CNAME c.example', 'A 10.0.0.1'],
      ttls: [190, 90],
    });
    expect(bed.ask('c.example')).toEqual({ texts: ['A 10.0.0.1'], ttls: [90] });
  });

  it('counts each record once', () => {
    bed.store('a.example', CHAIN);
    expect([bed.cache.insertions, bed.cache.recordCount]).toEqual([3, 3]);
  });

  it('is stored whole or not at all', () => {
    bed.create(2);
    bed.store('a.example', CHAIN);
    expect([bed.cache.insertions, bed.cache.recordCount]).toEqual([0, 0]);
  });

  it('has names that outlive a short-lived CNAME', () => {
    bed.store('a.example', [alias('a.example', 'c.example', 5), CHAIN[2]!]);
    bed.now += 5;
    expect(bed.has('a.example')).toBe(false);
    expect(bed.ask('c.example')?.ttls).toEqual([95]);
  });
});

describe('the order of records', () => {
  const addresses = ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3'];
  const order = () =>
    bed
      .ask('a.example')!
      .texts.map((text) => text.at(-1))
      .join('');

  it('goes one further back with each answer', () => {
    bed.store('a.example', addressRecords(30, ...addresses));
    expect(Array.from({ length: 6 }, order)).toEqual([
      ...['0123', '3012', '2301', '1230'],
      ...['0123', '3012'],
    ]);
  });

  it('is that of upstream where records do not rotate', () => {
    bed.create(10, { turnsRecords: false });
    bed.store('a.example', addressRecords(30, ...addresses));
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
    bed.store('a.example', [alias('a.example', 'b.example'), ...records], 'SRV');
    const weights = () =>
      askCache(bed.cache, { name: 'a.example', type: 'SRV' })!.answers.map(
        (text) => /"weight":(\d)/.exec(text)?.[1] ?? 'alias',
      );
    expect(weights()).toEqual(['alias', '1', '2', '3']);
    expect(weights()).toEqual(['alias', '3', '1', '2']);
    expect(weights()).toEqual(['alias', '2', '3', '1']);
    expect(weights()).toEqual(['alias', '1', '2', '3']);
  });
});

describe('the ceiling on sent TTLs', () => {
  it('bounds every TTL of an answer and not the cached one', () => {
    bed.create(10, { maxTtlSeconds: 20 });
    bed.store('a.example', addressRecords(30, '10.0.0.1'));
    bed.deny('b.example');
    expect(bed.ask('a.example')?.ttls).toEqual([20]);
    expect(askCache(bed.cache, 'b.example')?.authorities[0]).toMatch(/ 20$/);
    bed.now += 15;
    expect(bed.ask('a.example')?.ttls).toEqual([15]);
  });
});

describe('an expired answer', () => {
  it('is served with the expired TTL at 0 and marked as stale, for the time of the option', () => {
    bed.create(10, { maxStaleSeconds: 100 });
    bed.store('a.example', [
      alias('a.example', 'b.example'),
      { ...addressRecords(30, '10.0.0.1')[0]!, owner: 'b.example' },
    ]);
    expect(bed.ask('a.example')?.ttls).toEqual([300, 30]);
    expect(bed.cache.isStale).toBe(false);
    bed.now += 30;
    expect(bed.ask('a.example')?.ttls).toEqual([270, 0]);
    expect(bed.cache.isStale).toBe(true);
    bed.now += 99.9;
    expect(bed.has('a.example')).toBe(true);
    bed.now += 0.1;
    expect(bed.has('a.example')).toBe(false);
  });

  it('is served forever where there is no limit, and still removed for lack of space', () => {
    bed.create(1, { maxStaleSeconds: Number.POSITIVE_INFINITY });
    bed.store('a.example', addressRecords(30, '10.0.0.1'));
    bed.now += 1e9;
    expect(bed.has('a.example')).toBe(true);
    bed.store('b.example', addressRecords(30, '10.0.0.1'));
    expect(bed.has('a.example')).toBe(false);
  });

  it('with a TTL of 0 from the start is good for the moment', () => {
    bed.create(10, { maxStaleSeconds: 100 });
    storeReply(
      bed.cache,
      { name: 'a' },
      { answers: addressRecords(0, '10.0.0.1') },
      { keepsZeroTtls: true },
    );
    expect(bed.ask('a')?.ttls).toEqual([0]);
    expect(bed.cache.isStale).toBe(false);
    bed.now += 1;
    expect(bed.ask('a')?.ttls).toEqual([0]);
    expect(bed.cache.isStale).toBe(true);
  });
});
