import { counter, gauge, type LabelledValue, type MetricFamily } from '@kube-dns/daemon';

import type { SubscriptionRow } from '@kube-dns/push';
import { SUBSCRIPTION_METRICS } from './metric-table.js';

/** The metrics of the subscriptions; one that the server does not know is none. */
export function subscriptionFamilies(rows: () => readonly SubscriptionRow[]): MetricFamily[] {
  const known = () => rows().filter(({ state }) => state !== 'unsupported');
  const byServer = (valueOf: (row: SubscriptionRow) => number) => () =>
    known().map((row) => ({ labels: { server: row.server }, value: valueOf(row) }));
  const by =
    (label: string, valuesOf: (row: SubscriptionRow) => Readonly<Record<string, number>>) => () =>
      known().flatMap((row): LabelledValue[] =>
        Object.entries(valuesOf(row)).map(([key, value]) => ({
          labels: { server: row.server, [label]: key },
          value,
        })),
      );
  return [
    gauge(
      SUBSCRIPTION_METRICS.live,
      by('zone', ({ zones, state }) =>
        Object.fromEntries(zones.map((zone) => [zone, Number(state === 'live')])),
      ),
    ),
    gauge(SUBSCRIPTION_METRICS.messageAge, () =>
      known().flatMap(({ server, state, lastSeenMs }) =>
        state === 'live' && lastSeenMs !== undefined
          ? [{ labels: { server }, value: (performance.now() - lastSeenMs) / 1_000 }]
          : [],
      ),
    ),
    gauge(
      SUBSCRIPTION_METRICS.kept,
      byServer(({ keptAnswers }) => keptAnswers),
    ),
    counter(
      SUBSCRIPTION_METRICS.dropped,
      byServer(({ droppedAnswers }) => droppedAnswers),
    ),
    counter(
      SUBSCRIPTION_METRICS.events,
      by('event', ({ events }) => events),
    ),
    counter(
      SUBSCRIPTION_METRICS.flushes,
      by('reason', ({ flushes }) => flushes),
    ),
  ];
}
