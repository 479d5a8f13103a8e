import { expect, it } from '@jest/globals';
import { subscriptionRow } from '../testing/subscription-row.js';
import { subscriptionsPage } from './subscriptions-page.js';

it('the page of subscriptions says what is live, what is not and why, and how old that is', () => {
  const live = subscriptionRow({ sinceMs: 1_000, heardMs: 9_500, serial: 7, keptAnswers: 3 });
  const down = subscriptionRow({
    server: '[::1]#53',
    state: 'down',
    reason: 'no heartbeat',
    sinceMs: 9_000,
    heardMs: undefined,
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
        keptAnswers: 3,
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
        keptAnswers: 0,
        droppedAnswers: 0,
        events,
        flushes,
      },
    ],
  });
});
