import {
  type BucketHistogram,
  type CountedListener,
  counter,
  type EncryptedNameServer,
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
import { type NotifyTarget, type SubscriberCounts, subscriberFamilies } from '@kube-dns/push';
import { type Telemetry, telemetryFamilies } from '@kube-dns/telemetry';
import type { ForwarderCounters, QueryForwarder } from '@kube-dns/transport';
import { CAUSES, type QueryStatistics, SYSTEMS } from '../answer/query-statistics.js';
import type { Configuration } from '../config/configuration.js';
import type { KubednsFlags } from '../config/flags.js';
import type { Upstreams } from '../config/upstreams.js';
import type { ClusterWatch } from '../watch/cluster-watch.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { corednsFamilies } from './coredns-families.js';
import {
  LISTENER_METRICS,
  OWN_METRICS,
  SKYDNS_METRICS,
  TELEMETRY_METRICS,
  UPSTREAM_METRICS,
} from './metric-table.js';
import type { UpstreamStatistics } from './upstream-statistics.js';

/** Counts of the watch of one resource. */
export interface WatchStatistics {
  readonly resource: string;
  readonly objects: number;
  /** When its last event arrived, on the clock of `now`; 0 before the first. */
  readonly lastEventMs: number;
  readonly relists: number;
  /** Restarts of the watch by reason. */
  readonly restarts: Readonly<Record<string, number>>;
  readonly rejected: number;
  readonly passedOver: number;
  readonly isOverLimit: boolean;
}

/** The sources of the metrics, read at each scrape. */
export interface MetricSources extends ProgramFacts {
  /** Prefix of the names of skydns: `<namespace>_<subsystem>`. */
  readonly prefix: string;
  readonly isReady: () => boolean;
  readonly statistics: () => QueryStatistics;
  /** Number of records in the zone by type. */
  readonly zoneCounts: () => Readonly<Record<string, number>>;
  readonly watches: () => Iterable<WatchStatistics>;
  readonly eventToServed: BucketHistogram;
  readonly subscribers: SubscriberCounts;
  readonly notified: readonly Pick<NotifyTarget, 'text' | 'sent' | 'results'>[];
  readonly configuration: Pick<
    Configuration,
    'source' | 'version' | 'generation' | 'appliedMs' | 'rejected'
  >;
  readonly forwarder: () => Pick<QueryForwarder, 'inFlight'> & {
    readonly counters: Pick<ForwarderCounters, 'forwarded' | 'failures' | 'overflows'>;
  };
  readonly upstreams: Pick<UpstreamStatistics, 'entries'>;
  readonly upstreamServers: {
    readonly all: Iterable<EncryptedNameServer>;
    readonly rejectedReplies: number;
  };
  /** The number of known servers of each stub domain. */
  readonly stubServers: () => Iterable<readonly [domain: string, servers: number]>;
  /** Undefined until the listener is open. */
  readonly listener: () => CountedListener | undefined;
  readonly telemetry: Telemetry;
  /** A monotonic clock in milliseconds; `performance.now()` unless given. */
  readonly now?: () => number;
}

/** A ConfigMap may have tens of thousands; the rest has no metrics of its own. */
const MAX_STUB_DOMAINS = 1_000;

/** What the metrics say of the program, and the prefix of the names of skydns. */
type MetricsAbout = Pick<MetricSources, 'prefix' | 'version' | 'isReady' | 'unexpectedErrors'>;

/** The parts of kubedns that its metrics read. */
type MeteredParts = Omit<
  MetricSources,
  keyof MetricsAbout | 'zoneCounts' | 'watches' | 'stubServers'
> & {
  readonly flags: Pick<KubednsFlags, 'coredns-metrics' | 'domain' | 'dns-port'>;
  readonly zone: ClusterZone;
  readonly watch: Pick<ClusterWatch, 'statistics'>;
  readonly servers: Pick<Upstreams, 'stubServers'>;
};

/** Every metric, with `--coredns-metrics` also under the names of CoreDNS. */
export function allFamilies(parts: MeteredParts, about: MetricsAbout): MetricFamily[] {
  const { flags, zone, watch, servers, statistics } = parts;
  const own = metricFamilies({
    ...parts,
    ...about,
    zoneCounts: () => zone.countRecords(),
    watches: () => watch.statistics,
    stubServers: () => servers.stubServers(),
  });
  if (!flags['coredns-metrics']) return own;
  const { domain, 'dns-port': port } = flags;
  return [...own, ...corednsFamilies(own, { statistics, domain, port })];
}

/** Every metric of kubedns, as the metric table defines it. */
export function metricFamilies(sources: MetricSources): MetricFamily[] {
  const { version } = sources;
  return [
    ...skydnsFamilies(sources),
    info(OWN_METRICS.buildInfo, () => ({ version })),
    gauge(OWN_METRICS.ready, () => Number(sources.isReady())),
    gauge(OWN_METRICS.records, () => labelledBy('type', sources.zoneCounts())),
    counter(OWN_METRICS.wildcardQueries, () => sources.statistics().wildcards),
    histogram(OWN_METRICS.eventToServed, () => [{ labels: {}, histogram: sources.eventToServed }]),
    counter(OWN_METRICS.unexpectedErrors, sources.unexpectedErrors),
    ...subscriberFamilies(OWN_METRICS, () => sources.subscribers),
    ...notifyFamilies(sources),
    ...watchFamilies(sources),
    ...configurationFamilies(sources),
    ...forwarderFamilies(sources),
    ...nameServerFamilies(
      UPSTREAM_METRICS,
      () => sources.upstreams.entries(),
      () => sources.upstreamServers.all,
    ),
    ...listenerFamilies(LISTENER_METRICS, () => [sources.listener() ?? []].flat()),
    ...telemetryFamilies(TELEMETRY_METRICS, () => sources.telemetry),
  ];
}

/**
 * The query statistics under the names of skydns. Every series exists from the start, so that the first
 * error is an increase.
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

function notifyFamilies({ notified }: MetricSources): MetricFamily[] {
  return [
    counter(OWN_METRICS.notifySent, () =>
      notified.map(({ text: target, sent: value }) => ({ labels: { target }, value })),
    ),
    counter(OWN_METRICS.notifyResults, () =>
      notified.flatMap(({ text: target, results }) =>
        Object.entries(results).map(([result, value]) => ({ labels: { target, result }, value })),
      ),
    ),
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
    counter(
      OWN_METRICS.passedOver,
      each(({ passedOver }) => passedOver),
    ),
    gauge(
      OWN_METRICS.overLimit,
      each(({ isOverLimit }) => Number(isOverLimit)),
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

function forwarderFamilies({
  forwarder,
  stubServers,
  upstreamServers,
}: MetricSources): MetricFamily[] {
  return [
    counter(OWN_METRICS.upstreamQueries, () => forwarder().counters.forwarded),
    counter(OWN_METRICS.upstreamRejected, () => upstreamServers.rejectedReplies),
    counter(OWN_METRICS.upstreamFailures, () => forwarder().counters.failures),
    counter(OWN_METRICS.upstreamOverflows, () => forwarder().counters.overflows),
    gauge(OWN_METRICS.upstreamInFlight, () => forwarder().inFlight),
    gauge(OWN_METRICS.stubServers, () => {
      const first = Array.from(stubServers()).slice(0, MAX_STUB_DOMAINS);
      return first.map(([domain, value]) => ({ labels: { domain }, value }));
    }),
  ];
}
