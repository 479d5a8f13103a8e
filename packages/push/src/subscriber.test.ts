import { describe, expect, it } from '@jest/globals';
import { encodeKey } from '@kube-dns/wire';
import { subscriptionRow } from './testing/index.js';
import { WITH_TTL } from './version.js';
import { Subscriptions, subscriptionsPage, zoneProblems, zoneRows } from './subscriber.js';

it('the page of subscriptions says what is live, what is not and why, and how old that is', () => {
  const live = subscriptionRow({
    sinceMs: 1_000,
    lastSeenMs: 9_500,
    serial: 7,
    pinnedAnswers: 3,
    zoneAnswers: 4,
  });
  const down = subscriptionRow({
    server: '[::1]#53',
    state: 'down',
    reason: 'no heartbeat',
    sinceMs: 9_000,
    lastSeenMs: undefined,
    serial: undefined,
    processes: 0,
  });
  const { events, flushes } = live;
  expect(JSON.parse(subscriptionsPage([live, down], 10_000))).toEqual({
    subscriptions: [
      {
        server: '127.0.0.1#10053',
        zones: ['cluster.local'],
        state: 'live',
        forSeconds: 9,
        lastMessageAgeSeconds: 0.5,
        serial: 7,
        processes: 1,
        pinnedAnswers: 3,
        zoneAnswers: 4,
        coverage: 0.75,
        droppedAnswers: 0,
        events,
        flushes,
      },
      {
        server: '[::1]#53',
        zones: ['cluster.local'],
        state: 'down',
        reason: 'no heartbeat',
        forSeconds: 1,
        processes: 0,
        pinnedAnswers: 0,
        zoneAnswers: 0,
        droppedAnswers: 0,
        events,
        flushes,
      },
    ],
  });
});

describe('the rows of zones', () => {
  it('have what is counted of a server once, not for each of its zones', () => {
    const rows = [
      subscriptionRow({ zones: ['a', 'b', 'c'], pinnedAnswers: 23, zoneAnswers: 30 }),
      subscriptionRow({ zones: ['d'], pinnedAnswers: 5, state: 'down' }),
    ];
    const shown = zoneRows(rows).map((row) => [
      row.zone,
      row.pinnedAnswers,
      row.zoneAnswers,
      row.coveragePercent,
    ]);
    expect(shown).toEqual([
      ['d', 5, 0, null],
      ['a', 23, 30, 76],
      ['b', null, null, null],
      ['c', null, null, null],
    ]);
  });
});

describe('the problems of zones', () => {
  const problems = (pinnedAnswers: number, zoneAnswers: number) =>
    zoneProblems([subscriptionRow({ zones: ['a', 'b'], pinnedAnswers, zoneAnswers })]);

  it('name a server whose changes reach few of its cached answers', () => {
    expect(problems(89, 100)).toEqual([
      '127.0.0.1#10053 announces the changes of a, b, but only 89 % of 100 cached answers are pinned: after a change the others are old until their TTL ends',
    ]);
    expect(problems(0, 50)).toHaveLength(1);
    expect([...problems(90, 100), ...problems(0, 49), ...problems(0, 0)]).toEqual([]);
  });

  it('name one that announces nothing once, whatever is pinned', () => {
    const down = subscriptionRow({ state: 'down', reason: 'no heartbeat', zoneAnswers: 100 });
    expect(zoneProblems([down])).toEqual([
      '127.0.0.1#10053 announces no changes of cluster.local now (no heartbeat): answers expire by their TTLs',
    ]);
  });
});

it('an answer is of the server that gave it, else of the one with the longest zone of its name', () => {
  const serverAt = (port: number, ...zones: string[]) => ({
    server: { address: '127.0.0.1', port },
    zones: zones.map(encodeKey),
  });
  const subscriptions = new Subscriptions({
    servers: [serverAt(1, 'z', 'arpa'), serverAt(2, 'sub.z'), serverAt(3, 'z')],
    log: { info: () => undefined, warn: () => undefined },
  });
  const numberOf = (name: string, subscription = 0) => {
    const key = encodeKey(name);
    return subscriptions.serverNumber(key, key.length, subscription);
  };
  expect(
    ['a.z', 'z', '1.arpa', 'a.sub.z', 'sub.z', 'az', 'y'].map((name) => numberOf(name)),
  ).toEqual([1, 1, 1, 2, 2, 0, 0]);
  subscriptions.start([]);
  try {
    expect([1, 2, 3, 3 + WITH_TTL].map((number) => numberOf('a.z', number))).toEqual([1, 2, 3, 3]);
  } finally {
    subscriptions.close();
  }
});
