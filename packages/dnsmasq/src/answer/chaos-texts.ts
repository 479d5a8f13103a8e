import type { SubscriptionRow } from '@kube-dns/push';
import type { AnswerCache, AnswerCounters, ServerStatistics } from '@kube-dns/resolver';
import type { ChaosTexts } from './chaos.js';

/** The version that clients, dashboards and readers of logs expect: the dnsmasq whose behaviour this is. */
export const DNSMASQ_VERSION = '2.90';

export interface ChaosSources {
  readonly counters: Pick<AnswerCounters, 'hits' | 'misses'>;
  readonly cache: Pick<AnswerCache, 'maxRecords' | 'insertions' | 'evictions'>;
  readonly statistics: Pick<ServerStatistics, 'entries'>;
  readonly subscriptions: () => readonly SubscriptionRow[];
}

/** The names below `bind` and their texts, as in dnsmasq, and one more; the sidecar reads the numbers. */
export function chaosTexts(sources: ChaosSources): ChaosTexts {
  const { counters, cache, statistics, subscriptions } = sources;
  const number = (read: () => number) => () => [String(read())];
  return new Map<string, () => string[]>([
    ['version.bind', () => [`dnsmasq-${DNSMASQ_VERSION}`]],
    ['authors.bind', () => ['Simon Kelley']],
    ['copyright.bind', () => ['Copyright (c) 2000-2024 Simon Kelley']],
    ['cachesize.bind', number(() => cache.maxRecords)],
    ['insertions.bind', number(() => cache.insertions)],
    ['evictions.bind', number(() => cache.evictions)],
    ['misses.bind', number(() => counters.misses)],
    ['hits.bind', number(() => counters.hits)],
    ['auth.bind', number(() => 0)],
    ['servers.bind', () => serverTexts(statistics)],
    ['subscriptions.bind', () => subscriptionTexts(subscriptions())],
  ]);
}

/** `ADDRESS#PORT QUERIES FAILED`, one text per server. */
function serverTexts(statistics: Pick<ServerStatistics, 'entries'>): string[] {
  return [...statistics.entries()].map(
    ([server, { queries, failed }]) => `${server} ${queries} ${failed}`,
  );
}

/** How many zones of servers are live, and how many should be. */
function subscriptionTexts(rows: readonly SubscriptionRow[]): string[] {
  return (['live', 'down'] as const).map((wanted) => {
    const zones = rows.filter(({ state }) => state === wanted).flatMap((row) => row.zones);
    return `${wanted} ${zones.length}`;
  });
}
