import {
  type BucketHistogram,
  type CountedListener,
  counter,
  gauge,
  histogram,
  info,
  labelledBy,
  listenerFamilies,
  type MetricDescription,
  type MetricFamily,
  nameServerFamilies,
  type ProgramFacts,
} from '@kube-dns/daemon';
import type { QueryForwarder } from '@kube-dns/transport';
import { CAUSES, type QueryStatistics, SYSTEMS } from '../answer/query-statistics.js';
import type { Configuration } from '../config/configuration.js';
import { LISTENER_METRICS, OWN_METRICS, SKYDNS_METRICS, UPSTREAM_METRICS } from './metric-table.js';
import type { UpstreamStatistics } from './upstream-statistics.js';

/** How following one resource of the API goes. */
export interface WatchStatistics {
  readonly resource: string;
  readonly objects: number;
  /** When the API server last said something of it, on the clock of `now`; 0 before it did. */
  readonly lastEventMs: number;
  readonly relists: number;
  /** How often the watch had to be started again, by reason. */
  readonly restarts: Readonly<Record<string, number>>;
  readonly rejected: number;
}

/** Where the figures come from; each is asked at a scrape and counts by itself. */
export interface MetricSources extends ProgramFacts {
  /** Comes before the names of skydns: `<namespace>_<subsystem>`. */
  readonly prefix: string;
  readonly isReady: () => boolean;
  readonly statistics: () => QueryStatistics;
  /** How many records of each type the zone has. */
  readonly zoneCounts: () => Readonly<Record<string, number>>;
  readonly watches: () => Iterable<WatchStatistics>;
  readonly eventToServed: BucketHistogram;
  readonly configuration: Pick<
    Configuration,
    'source' | 'version' | 'generation' | 'appliedMs' | 'rejected'
  >;
  readonly forwarder: () => Pick<
    QueryForwarder,
    'forwarded' | 'failures' | 'overflows' | 'inFlight'
  >;
  readonly upstreams: Pick<UpstreamStatistics, 'entries'>;
  /** Undefined until the listener is there. */
  readonly listener: () => CountedListener | undefined;
  /** Milliseconds that never fall, whatever becomes of the time of day; `performance.now()` unless given. */
  readonly now?: () => number;
}

/** Every metric of kubedns: see the table of names. */
export function metricFamilies(sources: MetricSources): MetricFamily[] {
  const { version } = sources;
  return [
    ...skydnsFamilies(sources),
    info(OWN_METRICS.buildInfo, () => ({ version })),
    gauge(OWN_METRICS.ready, () => Number(sources.isReady())),
    gauge(OWN_METRICS.records, () => labelledBy('type', sources.zoneCounts())),
    histogram(OWN_METRICS.eventToServed, () => [{ labels: {}, histogram: sources.eventToServed }]),
    counter(OWN_METRICS.unexpectedErrors, sources.unexpectedErrors),
    ...watchFamilies(sources),
    ...configurationFamilies(sources),
    ...forwarderFamilies(sources),
    ...nameServerFamilies(UPSTREAM_METRICS, () => sources.upstreams.entries()),
    ...listenerFamilies(LISTENER_METRICS, () => [sources.listener() ?? []].flat()),
  ];
}

/**
 * The statistics of queries under the names of skydns. Every series is there from the start, so that the
 * first error is an increase.
 */
function skydnsFamilies({ prefix, statistics }: MetricSources): MetricFamily[] {
  const named = ({ name, ...rest }: MetricDescription) => ({ name: `${prefix}_${name}`, ...rest });
  return [
    counter(named(SKYDNS_METRICS.requests), () => labelledBy('system', statistics().requests)),
    histogram(named(SKYDNS_METRICS.durations), () => bySystem(statistics().durations)),
    histogram(named(SKYDNS_METRICS.sizes), () => bySystem(statistics().sizes)),
    counter(named(SKYDNS_METRICS.errors), () =>
      SYSTEMS.flatMap((system) =>
        CAUSES.map((cause) => ({
          labels: { cause, system },
          value: statistics().errors[system][cause],
        })),
      ),
    ),
    counter(named(SKYDNS_METRICS.cacheMisses), () => [
      { labels: { cache: 'response' }, value: statistics().cacheMisses },
    ]),
  ];
}

function bySystem(histograms: QueryStatistics['durations']) {
  return SYSTEMS.map((system) => ({ labels: { system }, histogram: histograms[system] }));
}

function watchFamilies(sources: MetricSources): MetricFamily[] {
  const { watches, now = () => performance.now() } = sources;
  const each = (valueOf: (watch: WatchStatistics) => number) => () =>
    Array.from(watches(), (watch) => ({
      labels: { resource: watch.resource },
      value: valueOf(watch),
    }));
  return [
    gauge(
      OWN_METRICS.objects,
      each(({ objects }) => objects),
    ),
    gauge(OWN_METRICS.lastEventAge, () =>
      Array.from(watches())
        .filter(({ lastEventMs }) => lastEventMs > 0)
        .map(({ resource, lastEventMs }) => ({
          labels: { resource },
          value: (now() - lastEventMs) / 1_000,
        })),
    ),
    counter(
      OWN_METRICS.relists,
      each(({ relists }) => relists),
    ),
    counter(
      OWN_METRICS.rejectedObjects,
      each(({ rejected }) => rejected),
    ),
    counter(OWN_METRICS.watchRestarts, () =>
      Array.from(watches()).flatMap(({ resource, restarts }) =>
        Object.entries(restarts).map(([reason, value]) => ({
          labels: { resource, reason },
          value,
        })),
      ),
    ),
  ];
}

function configurationFamilies({ configuration }: MetricSources): MetricFamily[] {
  return [
    info(OWN_METRICS.configInfo, () => {
      const { source, version } = configuration;
      return { source, version };
    }),
    gauge(OWN_METRICS.configApplied, () => configuration.appliedMs / 1_000),
    gauge(OWN_METRICS.configGeneration, () => configuration.generation),
    counter(OWN_METRICS.configRejected, () => configuration.rejected),
  ];
}

function forwarderFamilies({ forwarder }: MetricSources): MetricFamily[] {
  return [
    counter(OWN_METRICS.upstreamQueries, () => forwarder().forwarded),
    counter(OWN_METRICS.upstreamFailures, () => forwarder().failures),
    counter(OWN_METRICS.upstreamOverflows, () => forwarder().overflows),
    gauge(OWN_METRICS.upstreamInFlight, () => forwarder().inFlight),
  ];
}
