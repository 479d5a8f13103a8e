import { formatHostPort } from '@kube-dns/base';
import type { SubscriberCounts } from './subscriber-families.js';
import type { SubscriberRow } from './subscribers.js';

/** The page `/subscribers`, as JSON: who is told which names change, and who reads too slowly. Ages are in seconds. */
export function subscribersPage(
  subscribers: Pick<SubscriberCounts, 'news' | 'dropped'> & { rows(): readonly SubscriberRow[] },
): string {
  const { news, dropped } = subscribers;
  const rows = subscribers
    .rows()
    .map(({ forMs, heardAgoMs, behindMs, unreadBytes, ...client }) => ({
      address: formatHostPort(client),
      forSeconds: seconds(forMs),
      lastMessageAgeSeconds: seconds(heardAgoMs),
      behindSeconds: behindMs === undefined ? undefined : seconds(behindMs),
      unreadBytes,
    }));
  const { serial, names, flushes } = news;
  const page = { serial, names, flushes, dropped, subscribers: rows };
  return `${JSON.stringify(page, null, 2)}\n`;
}

function seconds(ms: number): number {
  return Math.round(ms) / 1_000;
}
