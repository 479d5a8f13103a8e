import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  addressRecords,
  encodeQuery,
  encodeReply,
  type Response,
  soaRecord,
} from '@kube-dns/testkit';
import { encodeName, readQuery, TYPE } from '@kube-dns/wire';
import { cname } from '../testing/cache-testbed.js';
import { PLAIN_RULES, seenIn } from '../testing/cached-answers.js';
import { AnswerCache, type SnapshotAnswer } from './answer-cache.js';
import { ReplyReader } from './reply-reader.js';

const MAX_STALE_SECONDS = 3_600;
/** How long an expired answer of the cluster is given. */
const CLUSTER_STALE_SECONDS = 60;
const TYPES = ['A', 'AAAA', 'CNAME'] as const;
type Type = (typeof TYPES)[number];
const reader = new ReplyReader({ ...PLAIN_RULES, isExtraType: () => true });
const out = new Uint8Array(65_535);
const SOA = soaRecord(10, 'x');
let now: number;

beforeEach(() => {
  now = 10_000;
});

const create = (maxRecords = 1_000) =>
  new AnswerCache({
    maxRecords,
    maxStaleSeconds: MAX_STALE_SECONDS,
    staleTtlSeconds: 5,
    nowSeconds: () => now,
  });

const messageOf = (name: string, type: Type, response: Response) =>
  encodeReply(encodeQuery({ name, type }), response);

function read(message: Uint8Array) {
  expect(reader.read(Buffer.from(message))).toBe(true);
  reader.answer.isOfCluster = true;
  return reader.answer;
}

const store = (cache: AnswerCache, name: string, response: Response, type: Type = 'A') =>
  cache.store(read(messageOf(name, type, response)), () => false);

/** Another cache, with the answers of one as a snapshot has them. */
function restored(cache: AnswerCache, into = create()): AnswerCache {
  for (const { message, ageSeconds, expiredSeconds } of cache.snapshotAnswers(1e9))
    into.restore(read(message), ageSeconds, expiredSeconds);
  return into;
}

function ask(cache: AnswerCache, name: string, type: Type = 'A') {
  const hit = cache.lookup(readQuery(encodeQuery({ name, type })), out);
  return hit && { isStale: hit.isStale, seen: seenIn(out.subarray(0, hit.length)) };
}

/** Whether there is a denial of a name, in front of its answers once they have expired. */
function isDenied(cache: AnswerCache, name: string): boolean {
  const { name: key, nameLength } = readQuery(encodeQuery({ name }));
  const entry = cache.inspect(key, nameLength, TYPE.TXT);
  return entry?.isNxdomain === true && entry.expiredSeconds < CLUSTER_STALE_SECONDS;
}

const address = (ttl = 30, data = '10.0.0.1'): Response => ({ answers: addressRecords(ttl, data) });
const denial: Response = { rcode: 'NXDOMAIN', authorities: [SOA] };
const noData: Response = { authorities: [SOA] };

describe('the answers of a snapshot', () => {
  it('are expired ones in another cache, as long as they would have been in the first', () => {
    const cache = create();
    store(cache, 'a.x', address(30));
    now += 20;
    const other = restored(cache);
    expect(ask(other, 'a.x')).toEqual({
      isStale: true,
      seen: { rcode: 'NOERROR', answers: ['a.x A 10.0.0.1 5'], authorities: [] },
    });
    const query = readQuery(encodeQuery({ name: 'a.x' }));
    expect(other.inspect(query.name, query.nameLength, query.type)).toMatchObject({
      state: 'expired',
      ageSeconds: 20,
      expiredSeconds: 0,
      isRestored: true,
    });
    expect(other.describe()).toMatchObject({ restored: 1, totalInsertions: 0 });
    // An answer is never given longer than a minute after the restart.
    now += CLUSTER_STALE_SECONDS - 1;
    expect(ask(other, 'a.x')?.isStale).toBe(true);
    now += 1;
    expect(ask(other, 'a.x')).toBeUndefined();
    expect(other.describe().restored).toBe(0);
  });

  it('are what clients would get expired from the first cache, and nothing else', () => {
    const step = fc.record({
      name: fc.constantFrom('a.x', 'b.x'),
      type: fc.constantFrom(...TYPES),
      what: fc.constantFrom('answer', 'denial', 'no data', 'drop'),
      seconds: fc.integer({ min: 0, max: 70 }),
      ttl: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const cache = create();
        for (const { name, type, what, seconds, ttl } of steps) {
          now += seconds;
          if (what === 'drop') cache.dropBelow(encodeName(name));
          else if (what === 'denial') store(cache, name, denial, type);
          else if (what === 'no data') store(cache, name, noData, type);
          else if (type === 'CNAME')
            store(cache, name, { answers: [cname(name, 'c.x', ttl)] }, type);
          else if (type === 'A') store(cache, name, address(ttl), type);
          else store(cache, name, { answers: [{ type, ttl, data: 'fd00::1' }] }, type);
        }
        const other = restored(cache);
        for (const name of ['a.x', 'b.x'])
          for (const type of TYPES) {
            const before = ask(cache, name, type);
            const after = ask(other, name, type);
            if (before === undefined || isDenied(cache, name))
              expect([name, type, after]).toEqual([name, type, undefined]);
            else {
              expect([name, type, after?.isStale]).toEqual([name, type, true]);
              expect(withoutTtls(after!.seen.answers)).toEqual(withoutTtls(before.seen.answers));
            }
          }
      }),
    );
  });

  it('give way to those of a server, and never take their place', () => {
    const cache = create();
    store(cache, 'a.x', address());
    store(cache, 'b.x', address());
    const other = create();
    store(other, 'a.x', address(30, '10.0.0.2'));
    store(other, 'b.x', denial);
    restored(cache, other);
    expect(other.describe().restored).toBe(0);
    expect(ask(other, 'a.x')?.seen.answers).toEqual(['a.x A 10.0.0.2 30']);
    const third = restored(cache);
    expect(third.describe().restored).toBe(2);
    store(third, 'a.x', address(30, '10.0.0.3'));
    expect(ask(third, 'a.x')).toMatchObject({ isStale: false });
    expect(third.describe().restored).toBe(1);
  });

  it('take no room from others', () => {
    const cache = create();
    for (let i = 0; i < 5; i++) store(cache, `n${i}.x`, address());
    const other = create(3);
    store(other, 'own.x', address());
    restored(cache, other);
    expect([other.entryCount, other.describe().restored]).toEqual([3, 2]);
    expect(ask(other, 'own.x')?.isStale).toBe(false);
    expect(other.evictions).toBe(0);
  });

  it('are given to nobody, nor restored, after they are dropped; others stay', () => {
    const cache = create();
    store(cache, 'a.x', address());
    const other = restored(cache);
    store(other, 'b.x', address());
    other.dropRestored();
    expect(other.describe().restored).toBe(0);
    expect(ask(other, 'a.x')).toBeUndefined();
    expect(ask(other, 'b.x')?.isStale).toBe(false);
    expect(other.entryCount).toBe(1);
    expect(restored(cache, other).describe().restored).toBe(0);
    expect([...other.snapshotAnswers(1e9)]).toHaveLength(1);
    now += 31;
    expect(ask(other, 'b.x')?.isStale).toBe(true);
  });

  it('are removed in turns of the event loop when they are dropped', async () => {
    const cache = create(20_000);
    for (let i = 0; i < 10_000; i++) store(cache, `n${i}.x`, address());
    const other = restored(cache, create(20_000));
    expect(other.entryCount).toBe(10_000);
    other.dropRestored();
    for (const i of [0, 5_000, 9_999]) expect(ask(other, `n${i}.x`)).toBeUndefined();
    store(other, 'new.x', address());
    while (other.entryCount > 1) await setImmediate();
    expect(ask(other, 'new.x')?.isStale).toBe(false);
  });

  it('are those that were used last where there are more than there is room for', () => {
    const cache = create();
    for (let i = 0; i < 10; i++) store(cache, `n${i}.x`, address());
    for (const name of ['n3.x', 'n1.x']) ask(cache, name);
    const [{ message }] = [...cache.snapshotAnswers(1e9)] as [SnapshotAnswer];
    const nameOf = (answer: SnapshotAnswer) =>
      Buffer.from(answer.message).toString('latin1', 13, 15);
    const more = 20;
    const some = [...cache.snapshotAnswers(3 * (message.length + more), more)];
    expect(some.map(nameOf)).toEqual(['n9', 'n3', 'n1']);
    expect([...cache.snapshotAnswers(message.length, more)]).toEqual([]);
  });

  it('are not those of entries that came or went while they are taken', () => {
    const cache = create();
    for (let i = 0; i < 3; i++) store(cache, `n${i}.x`, address());
    const answers = cache.snapshotAnswers(1e9);
    expect(answers.next().done).toBe(false);
    // The slot of the one has another entry.
    cache.clear();
    store(cache, 'new.x', address());
    expect(answers.next().done).toBe(true);
  });
});

const withoutTtls = (answers: readonly string[]) =>
  answers.map((text) => text.replace(/ \d+$/, ''));
