import { describe, expect, it } from '@jest/globals';
import { subscriptionRow } from './testing/index.js';
import { subscriptionsPage, zoneRows } from './subscriber.js';

it('the page of subscriptions says what is live, what is not and why, and how old that is', () => {
  const live = subscriptionRow({ sinceMs: 1_000, lastSeenMs: 9_500, serial: 7, pinnedAnswers: 3 });
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
      subscriptionRow({ zones: ['a', 'b', 'c'], pinnedAnswers: 23, droppedAnswers: 4 }),
      subscriptionRow({ zones: ['d'], pinnedAnswers: 5, state: 'down' }),
    ];
    const shown = zoneRows(rows).map((row) => [row.zone, row.pinnedAnswers, row.droppedAnswers]);
    expect(shown).toEqual([
      ['d', 5, 0],
      ['a', 23, 4],
      ['b', null, null],
      ['c', null, null],
    ]);
  });
});
