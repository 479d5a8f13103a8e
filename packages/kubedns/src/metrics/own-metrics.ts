import {
  type BucketHistogram,
  type CountedListener,
  type LabelledValue,
  listenerFamilies,
  nameServerFamilies,
  observedCounter,
  observedGauge,
  observedHistogram,
  observeFamilies,
  type Registry,
} from '@kube-dns/daemon';
import type { Forwarder } from '@kube-dns/transport';
import type { Configuration } from '../config/configuration.js';
import { LISTENER_METRICS, OWN_METRICS, UPSTREAM_METRICS } from './metric-table.js';
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
export interface MetricSources {
  readonly version: string;
  readonly isReady: () => boolean;
  /** How many records of each type the zone has. */
  readonly zoneCounts: () => Readonly<Record<string, number>>;
  readonly watches: () => Iterable<WatchStatistics>;
  readonly eventToServed: BucketHistogram;
  readonly configuration: Pick<
    Configuration,
    'source' | 'version' | 'generation' | 'appliedMs' | 'rejected'
  >;
  readonly forwarder: () => Pick<Forwarder, 'forwarded' | 'failures' | 'overflows' | 'inFlight'>;
  readonly upstreams: Pick<UpstreamStatistics, 'entries'>;
  /** Undefined until the listener is there. */
  readonly listener: () => CountedListener | undefined;
  /** Messages over UDP by thread, the main one first. */
  readonly workerMessages: () => readonly number[];
  readonly workerRestarts: () => number;
  readonly unexpectedErrors: () => number;
  /** Milliseconds that never fall, whatever becomes of the time of day; `performance.now()` unless given. */
  readonly now?: () => number;
}

/** Shows what the original does not: see the table of names. */
export function observeProgram(registry: Registry, sources: MetricSources): void {
  observedGauge(registry, OWN_METRICS.buildInfo, () => [
    { labels: { version: sources.version }, value: 1 },
  ]);
  observedGauge(registry, OWN_METRICS.ready, () => Number(sources.isReady()));
  observedGauge(registry, OWN_METRICS.records, () => labelled('type', sources.zoneCounts()));
  observedHistogram(registry, OWN_METRICS.eventToServed, () => [
    { labels: {}, histogram: sources.eventToServed },
  ]);
  observedCounter(registry, OWN_METRICS.unexpectedErrors, sources.unexpectedErrors);
  observeWorkers(registry, sources);
  observeWatches(registry, sources);
  observeConfiguration(registry, sources);
  observeForwarder(registry, sources);
  observeFamilies(
    registry,
    nameServerFamilies(UPSTREAM_METRICS, () => sources.upstreams.entries()),
  );
  observeFamilies(
    registry,
    listenerFamilies(LISTENER_METRICS, () => [sources.listener() ?? []].flat()),
  );
}

function observeWorkers(
  registry: Registry,
  { workerMessages, workerRestarts }: MetricSources,
): void {
  observedCounter(registry, OWN_METRICS.workerMessages, () =>
    workerMessages().map((value, worker) => ({ labels: { worker: String(worker) }, value })),
  );
  observedCounter(registry, OWN_METRICS.workerRestarts, workerRestarts);
}

function observeWatches(registry: Registry, sources: MetricSources): void {
  const { watches, now = () => performance.now() } = sources;
  const each = (valueOf: (watch: WatchStatistics) => number) => () =>
    Array.from(watches(), (watch) => ({
      labels: { resource: watch.resource },
      value: valueOf(watch),
    }));
  observedGauge(
    registry,
    OWN_METRICS.objects,
    each(({ objects }) => objects),
  );
  observedGauge(registry, OWN_METRICS.lastEventAge, () =>
    Array.from(watches())
      .filter(({ lastEventMs }) => lastEventMs > 0)
      .map(({ resource, lastEventMs }) => ({
        labels: { resource },
        value: (now() - lastEventMs) / 1_000,
      })),
  );
  observedCounter(
    registry,
    OWN_METRICS.relists,
    each(({ relists }) => relists),
  );
  observedCounter(
    registry,
    OWN_METRICS.rejectedObjects,
    each(({ rejected }) => rejected),
  );
  observedCounter(registry, OWN_METRICS.watchRestarts, () =>
    Array.from(watches()).flatMap(({ resource, restarts }) =>
      Object.entries(restarts).map(([reason, value]) => ({ labels: { resource, reason }, value })),
    ),
  );
}

function observeConfiguration(registry: Registry, { configuration }: MetricSources): void {
  observedGauge(registry, OWN_METRICS.configInfo, () => {
    const { source, version } = configuration;
    return [{ labels: { source, version }, value: 1 }];
  });
  observedGauge(registry, OWN_METRICS.configApplied, () => configuration.appliedMs / 1_000);
  observedGauge(registry, OWN_METRICS.configGeneration, () => configuration.generation);
  observedCounter(registry, OWN_METRICS.configRejected, () => configuration.rejected);
}

function observeForwarder(registry: Registry, { forwarder }: MetricSources): void {
  observedCounter(registry, OWN_METRICS.upstreamQueries, () => forwarder().forwarded);
  observedCounter(registry, OWN_METRICS.upstreamFailures, () => forwarder().failures);
  observedCounter(registry, OWN_METRICS.upstreamOverflows, () => forwarder().overflows);
  observedGauge(registry, OWN_METRICS.upstreamInFlight, () => forwarder().inFlight);
}

function labelled(label: string, values: Readonly<Record<string, number>>): LabelledValue[] {
  return Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
}
