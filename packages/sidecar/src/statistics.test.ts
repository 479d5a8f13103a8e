import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLog } from '@kube-dns/daemon';
import type { DecodedMessage } from '@kube-dns/wire';
import { FakePacing } from '../test/fake-pacing.js';
import { addressRecord, replyWith, txtRecord } from '../test/replies.js';
import {
  GrowingTotal,
  parseStatistic,
  parseSubscriptions,
  STATISTICS,
  StatisticsPoll,
} from './statistics.js';

let pacing: FakePacing;
let lines: string[];
let asked: string[];
let numbers: Record<string, string>;
let subscriptions: string[] | undefined;
let ask: (name: string) => Promise<DecodedMessage>;
let poll: StatisticsPoll;

beforeEach(() => {
  pacing = new FakePacing();
  lines = [];
  asked = [];
  numbers = {};
  subscriptions = undefined;
  ask = answer;
  setStatistics(10, 5, 2, 8, 1_000);
  poll = new StatisticsPoll({
    intervalMs: 5_000,
    ask: (name) => ask(name),
    pacing,
    log: createLog({ name: 'test', verbosity: 0, write: (line) => lines.push(line) }),
  });
});
afterEach(() => poll.close());

function setStatistics(...values: number[]): void {
  STATISTICS.forEach((name, index) => (numbers[`${name}.bind.`] = String(values[index])));
}

function answer(name: string): Promise<DecodedMessage> {
  asked.push(name);
  if (name === 'subscriptions.bind.' && subscriptions !== undefined) {
    return Promise.resolve(replyWith(txtRecord(...subscriptions)));
  }
  const number = numbers[name];
  if (number === undefined) return Promise.reject(new Error('no reply'));
  return Promise.resolve(replyWith(txtRecord(number)));
}

async function pollOnce(): Promise<void> {
  await pacing.next();
}

const values = () => STATISTICS.map((statistic) => poll.value(statistic));

describe('StatisticsPoll', () => {
  it('asks for all statistics immediately, in order, and again after each pause', async () => {
    expect(values()).toEqual([0, 0, 0, 0, 0]);
    poll.start();
    expect(await pacing.paused()).toBe(5_000);
    expect(asked).toEqual([
      'hits.bind.',
      'misses.bind.',
      'evictions.bind.',
      'insertions.bind.',
      'cachesize.bind.',
      'subscriptions.bind.',
    ]);
    expect(values()).toEqual([10, 5, 2, 8, 1_000]);
    setStatistics(13, 6, 2, 9, 1_000);
    await pollOnce();
    expect(values()).toEqual([13, 6, 2, 9, 1_000]);
  });

  it('continues its totals when dnsmasq restarts', async () => {
    poll.start();
    await pacing.paused();
    setStatistics(1, 1, 0, 1, 1_000);
    await pollOnce();
    expect(values()).toEqual([10, 5, 2, 8, 1_000]);
    setStatistics(4, 2, 0, 3, 1_000);
    await pollOnce();
    expect(values()).toEqual([13, 6, 2, 10, 1_000]);
  });

  it('shows the current cache size, also after it went down and up', async () => {
    poll.start();
    await pacing.paused();
    for (const size of [500, 1_000]) {
      setStatistics(10, 5, 2, 8, size);
      await pollOnce();
      expect(poll.value('cachesize')).toBe(size);
    }
  });

  it('drops a poll with a failed query, counts it, and logs the reason once', async () => {
    poll.start();
    await pacing.paused();
    setStatistics(20, 20, 20, 20, 20);
    delete numbers['insertions.bind.'];
    await pollOnce();
    await pollOnce();
    expect(values()).toEqual([10, 5, 2, 8, 1_000]);
    expect(poll.errors).toBe(2);
    setStatistics(20, 20, 20, 20, 20);
    await pollOnce();
    expect(values()).toEqual([20, 20, 20, 20, 20]);
    expect(lines.map((line) => line.trim().split('] ')[1])).toEqual([
      'dnsmasq statistics: failing: no reply',
      'dnsmasq statistics: ok again',
    ]);
  });

  it('knows whether the last poll succeeded, and how long ago one did', async () => {
    expect([poll.isUp, poll.ageMs()]).toEqual([false, null]);
    poll.start();
    await pacing.paused();
    expect([poll.isUp, poll.ageMs()]).toEqual([true, 0]);
    delete numbers['hits.bind.'];
    await pollOnce();
    expect([poll.isUp, poll.ageMs()]).toEqual([false, 5_000]);
    setStatistics(10, 5, 2, 8, 1_000);
    await pollOnce();
    expect([poll.isUp, poll.ageMs()]).toEqual([true, 0]);
  });

  it('knows which subscriptions are live while dnsmasq says so', async () => {
    subscriptions = ['live 3', 'down 0'];
    poll.start();
    await pacing.paused();
    expect(poll.subscriptions).toEqual({ live: 3, down: 0 });
    subscriptions = ['live 2', 'down 1'];
    await pollOnce();
    expect(poll.subscriptions).toEqual({ live: 2, down: 1 });
    delete numbers['hits.bind.'];
    await pollOnce();
    expect(poll.subscriptions).toBeUndefined();
  });

  it('asks a dnsmasq that knows no subscriptions once a minute, which is no failure', async () => {
    poll.start();
    await pacing.paused();
    const timesAsked = () => asked.filter((name) => name === 'subscriptions.bind.').length;
    for (let polls = 1; polls < 12; polls++) await pollOnce();
    expect(timesAsked()).toBe(1);
    subscriptions = ['live 3', 'down 0'];
    await pollOnce();
    expect(timesAsked()).toBe(2);
    expect([poll.errors, poll.isUp, lines]).toEqual([0, true, []]);
    expect(poll.subscriptions).toEqual({ live: 3, down: 0 });
  });

  it('counts no failure when it is closed during a query', async () => {
    const isAsked = new Promise<(error: Error) => void>((resolve) => {
      ask = () => new Promise((_resolve, reject) => resolve(reject));
    });
    poll.start();
    const fail = await isAsked;
    poll.close();
    fail(new Error('canceled'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(poll.errors).toBe(0);
    expect(lines).toEqual([]);
  });

  it('stops when it is closed, which may happen twice', async () => {
    poll.start();
    await pacing.paused();
    poll.close();
    poll.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toHaveLength(STATISTICS.length + 1);
    expect(lines).toEqual([]);
  });
});

describe('parseStatistic', () => {
  it.each([
    ['0', 0],
    ['12345', 12_345],
    ['+5', 5],
    ['-5', -5],
  ])('reads %s', (text, value) => {
    expect(parseStatistic('hits', replyWith(txtRecord(text)))).toBe(value);
  });

  it.each([
    ['no record', [], 'invalid number of Answer records for hits: 0'],
    [
      'two records',
      [txtRecord('1'), txtRecord('2')],
      'invalid number of Answer records for hits: 2',
    ],
    ['another type', [addressRecord], 'missing TXT record for hits'],
    ['two strings', [txtRecord('1', '2')], 'invalid number of TXT records for hits: 2'],
    ['text', [txtRecord('1.5')], 'strconv.ParseInt: parsing "1.5" for hits: invalid syntax'],
    ['empty text', [txtRecord('')], 'strconv.ParseInt: parsing "" for hits: invalid syntax'],
  ])('refuses %s', (_what, records, message) => {
    expect(() => parseStatistic('hits', replyWith(...records))).toThrow(
      expect.objectContaining({ message }),
    );
  });
});

it.each([
  ['both counts', [txtRecord('live 3', 'down 1')], { live: 3, down: 1 }],
  ['no record', [], undefined],
  ['another type', [addressRecord], undefined],
  ['one count', [txtRecord('live 3')], undefined],
  ['another text', [txtRecord('3', '1')], undefined],
  ['a count that is too long', [txtRecord('live 3', `down ${'9'.repeat(10)}`)], undefined],
])('reads %s', (_what, records, expected) => {
  expect(parseSubscriptions(replyWith(...records))).toEqual(expected);
});

it('reads no counts in an error', () => {
  const reply = replyWith(txtRecord('live 3', 'down 1'));
  expect(parseSubscriptions({ ...reply, rcode: 'NOTIMP' })).toBeUndefined();
});

function totalOf(readings: readonly number[]): number {
  const total = new GrowingTotal();
  for (const reading of readings) total.read(reading);
  return total.total;
}

describe('GrowingTotal', () => {
  it.each([
    ['nothing read', [], 0],
    ['a first reading', [7], 7],
    ['growth', [7, 10], 10],
    ['no growth', [7, 7], 7],
    ['a restart', [10, 3], 10],
    ['growth after a restart', [10, 3, 5], 12],
    ['a restart to zero', [10, 0, 4], 14],
    ['an invalid negative reading', [10, -5, 4], 14],
  ])('handles %s', (_what, readings, total) => {
    expect(totalOf(readings)).toBe(total);
  });

  it('never falls, whatever is read', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1_000, max: 1_000 })), (readings) => {
        const total = new GrowingTotal();
        let before = 0;
        for (const reading of readings) {
          total.read(reading);
          expect(total.total).toBeGreaterThanOrEqual(before);
          before = total.total;
        }
      }),
    );
  });
});
