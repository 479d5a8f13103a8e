import { beforeEach, describe, expect, it } from '@jest/globals';
import { addressRecords, encodeQuery, encodeReply } from '@kube-dns/testkit';
import { neverSeen, PublisherProcess } from '@kube-dns/push';
import { encodeKey, EXTENDED_ERROR, extendedErrorOption, RCODE, TYPE } from '@kube-dns/wire';

import { ReplyReader } from '../cache/reply-reader.js';

import { CacheTestbed } from '../testing/cache-testbed.js';
import { PLAIN_RULES } from '../testing/cached-answers.js';
import { subscriptionRow } from '@kube-dns/push/testing';
import { type CacheLook, cacheStep } from './explanation-steps.js';

const IDLE = { isInFlight: false, failure: undefined };
const lastSeen = neverSeen();
const bed = new CacheTestbed();

beforeEach(() => {
  lastSeen.fill(Number.NEGATIVE_INFINITY);
  bed.create(10, { maxStaleSeconds: 3_600, lastSeen });
});

/** What is said of a name now. */
function stepOf(name: string, more: Partial<CacheLook> = {}) {
  const key = encodeKey(name);
  const entry = bed.cache.inspect(key, key.length, TYPE.A);
  const look = {
    type: TYPE.A,
    entry,
    subscription: undefined,
    stale: 'late',
    question: IDLE,
  } as const;
  return cacheStep({ ...look, ...more });
}

const textOf = (name: string, more: Partial<CacheLook> = {}) => stepOf(name, more).text;

describe('what is said of the cache', () => {
  it('is that it has no answer', () => {
    expect(stepOf('a.x')).toEqual({
      step: 'cache',
      text: 'The cache has no answer for it.',
      state: 'none',
      isInFlight: false,
    });
  });

  it('is how old an answer is, and how long it is good', () => {
    bed.store('a.x', addressRecords(30, '10.0.0.1'));
    expect(textOf('a.x')).toBe(
      'The cache has 1 A record, stored less than a second ago; 30 s of its TTL are left.',
    );
    bed.now += 12.5;
    expect(stepOf('a.x')).toMatchObject({
      text: 'The cache has 1 A record, stored 12 s ago; 18 s of its TTL are left.',
      state: 'fresh',
      rcode: 'NOERROR',
      records: 1,
      isNegative: false,
      ageSeconds: 12,
      ttlSeconds: 30,
      secondsLeft: 18,
    });
  });

  it('is since when an answer has expired, and who gets it', () => {
    bed.store('a.x', addressRecords(30, '10.0.0.1', '10.0.0.2'));
    bed.now += 42;
    expect(stepOf('a.x')).toMatchObject({
      text:
        'The cache has 2 A records, stored 42 s ago, which expired 12 s ago. ' +
        'Clients get it if no server replies in time, for 3588 s more.',
      state: 'expired',
      expiredSeconds: 12,
      staleSecondsLeft: 3_588,
      secondsLeft: 0,
    });
    expect(textOf('a.x', { stale: 'at once' })).toContain(
      'Clients get it at once while it is asked for again, for 3588 s more.',
    );
    const key = encodeKey('a.x');
    bed.cache.noteTried(key, key.length, TYPE.A, 7);
    expect(textOf('a.x')).toMatch(/It was asked for again since, in vain\.$/);
    bed.now += 3_600;
    expect(textOf('a.x')).toContain('it expired 3612 s ago, and no client gets it.');
  });

  it('is that a name does not exist, or has no such records', () => {
    bed.deny('gone.example');
    bed.deny('a.example', { rcode: RCODE.NOERROR });
    expect(textOf('gone.example')).toContain(
      'a negative answer: the name does not exist (NXDOMAIN)',
    );
    expect(textOf('a.example')).toContain('the name has no records of type A (NODATA)');
    expect(stepOf('a.example')).toMatchObject({ isNegative: true, records: 0 });
  });

  it('is which server keeps it, and that it does not any more', () => {
    const publisher = new PublisherProcess(1, [encodeKey('z')]);
    publisher.become(new Uint8Array(16), encodeKey('z'));
    const reader = new ReplyReader(PLAIN_RULES);
    reader.read(
      encodeReply(encodeQuery({ name: 'a.z' }), { answers: addressRecords(30, '10.0.0.1') }),
    );
    lastSeen[1] = bed.now;
    bed.cache.store(reader.answer, () => true, publisher, 1);
    bed.now += 40;
    lastSeen[1] = bed.now;
    const subscription = subscriptionRow({ zones: ['z'], serial: 42 });
    expect(stepOf('a.z', { subscription })).toMatchObject({
      text:
        'The cache has 1 A record, stored 40 s ago: its TTL is over, and it is kept. ' +
        '127.0.0.1#10053 announces what changes in z (serial 42); until then it is right.',
      state: 'pinned',
      subscription: { server: '127.0.0.1#10053', zones: ['z'], state: 'live', serial: 42 },
    });
    const lost = subscriptionRow({ zones: ['z'], state: 'down', reason: 'connection refused' });
    expect(textOf('a.z', { subscription: lost })).toContain(
      '127.0.0.1#10053 announced what changes in z, and does not now (connection refused): it expires by its TTL.',
    );
  });

  it('is why it failed a moment ago, and that it is in flight', () => {
    const code = EXTENDED_ERROR.NO_REACHABLE_AUTHORITY;
    const failure = {
      code,
      option: extendedErrorOption(code, 'timeout 10.0.0.1'),
      isSilence: true,
    };
    expect(stepOf('a.x', { question: { isInFlight: false, failure } })).toMatchObject({
      text:
        'The cache has no answer for it. No server could answer it a moment ago (timeout 10.0.0.1): ' +
        'until a second has passed it is not asked again.',
      failedBefore: 'timeout 10.0.0.1',
      failureCode: 22,
    });
    expect(textOf('a.x', { question: { isInFlight: true, failure: undefined } })).toContain(
      'It is in flight to servers for another client.',
    );
  });

  it('is that a newer answer is on its way', () => {
    bed.create(10, { countsHits: true });
    bed.store('a.x', addressRecords(30, '10.0.0.1'));
    const hit = bed.lookup('a.x');
    expect(stepOf('a.x')).toMatchObject({ hits: 1, isPrefetched: false });
    hit?.notePrefetched();
    expect(textOf('a.x')).toMatch(/A newer answer has been asked for already\.$/);
  });
});
