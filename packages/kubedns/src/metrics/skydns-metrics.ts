import {
  type MetricDescription,
  observedCounter,
  observedHistogram,
  type Registry,
} from '@kube-dns/daemon';
import { CAUSES, type QueryStatistics, SYSTEMS } from '../answer/query-statistics.js';
import { SKYDNS_METRICS } from './metric-table.js';

/**
 * Shows the statistics, asked for at each scrape, under the names of skydns; every series is there from the start, so that the
 * first error is an increase.
 */
export function observeQueries(
  registry: Registry,
  prefix: string,
  statistics: () => QueryStatistics,
): void {
  const named = ({ name, ...rest }: MetricDescription) => ({ name: `${prefix}_${name}`, ...rest });
  const bySystem = <T>(valueOf: (system: (typeof SYSTEMS)[number]) => T) =>
    SYSTEMS.map((system) => ({ labels: { system }, ...valueOf(system) }));
  observedCounter(registry, named(SKYDNS_METRICS.requests), () =>
    bySystem((system) => ({ value: statistics().requests[system] })),
  );
  observedHistogram(registry, named(SKYDNS_METRICS.durations), () =>
    bySystem((system) => ({ histogram: statistics().durations[system] })),
  );
  observedHistogram(registry, named(SKYDNS_METRICS.sizes), () =>
    bySystem((system) => ({ histogram: statistics().sizes[system] })),
  );
  observedCounter(registry, named(SKYDNS_METRICS.errors), () =>
    SYSTEMS.flatMap((system) =>
      CAUSES.map((cause) => ({
        labels: { cause, system },
        value: statistics().errors[system][cause],
      })),
    ),
  );
  observedCounter(registry, named(SKYDNS_METRICS.cacheMisses), () => [
    { labels: { cache: 'response' }, value: statistics().cacheMisses },
  ]);
}
