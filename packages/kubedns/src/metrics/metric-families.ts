import {
  BucketHistogram,
  by,
  byBoth,
  byKey,
  configFamilies,
  corednsRenames,
  type CountedListener,
  labelled,
  listenerFamilies,
  type MetricFamily,
  metricPrefix,
  programFamilies,
  type ProgramFacts,
  renamedFamilies,
  upstreamFamilies,
  type UpstreamSources,
} from '@kube-dns/daemon';
import {
  notifierFamilies,
  type NotifyTarget,
  type SubscriberCounts,
  subscriberFamilies,
} from '@kube-dns/push';
import { type Telemetry, telemetryFamilies } from '@kube-dns/telemetry';
import type { ForwarderCounters } from '@kube-dns/transport';
import { CAUSES, type QueryStatistics, SYSTEMS } from '../answer/query-statistics.js';
import type { Configuration } from '../config/configuration.js';
import type { KubednsFlags } from '../config/flags.js';
import type { Upstreams } from '../config/upstreams.js';
import type { NamesBeside } from '../names-beside.js';
import type { StaticHosts } from '../outside/static-hosts.js';
import { type ClusterWatch, type ServedSnapshot, snapshotSeconds } from '../watch/cluster-watch.js';
import type { Service } from '../watch/projections.js';
import type { Snapshots } from '../watch/snapshots.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { TRANSFER_RESULTS, type Transfers } from '../transfer/transfers.js';
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
  readonly isSynced: boolean;
  readonly isDenied: boolean;
  readonly isOptional: boolean;
  readonly isAbsent: boolean;
}

/** The sources of the metrics, read at each scrape. */
export interface MetricSources extends ProgramFacts {
  /** Prefix of the names of skydns: `<namespace>_<subsystem>`. */
  readonly prefix: string;
  readonly isReady: () => boolean;
  readonly statistics: QueryStatistics;
  /** Number of records in the zone by type. */
  readonly zoneCounts: () => Readonly<Record<string, number>>;
  readonly watches: () => Iterable<WatchStatistics>;
  /** The sources of names beside the zone. */
  readonly beside: readonly (Pick<NamesBeside, 'id'> & Partial<Pick<NamesBeside, 'count'>>)[];
  readonly hosts: Pick<StaticHosts, 'size'>;
  /** The snapshot that answers are from; undefined while they are not. */
  readonly snapshot: () => ServedSnapshot | undefined;
  readonly snapshots: Pick<Snapshots, 'writtenMs' | 'bytes' | 'writes'>;
  readonly eventToServed: BucketHistogram;
  readonly subscribers: SubscriberCounts;
  readonly notified: readonly Pick<NotifyTarget, 'text' | 'sent' | 'results'>[];
  /** Undefined without `--transfer-to`. */
  readonly transfers: Pick<Transfers, 'results' | 'running'> | undefined;
  readonly configuration: Pick<
    Configuration,
    'source' | 'version' | 'generation' | 'appliedMs' | 'rejected' | 'unknownKeys'
  >;
  readonly forwarder: UpstreamSources['forwarder'] & {
    readonly counters: Pick<ForwarderCounters, 'forwarded'>;
  };
  readonly upstreams: Pick<UpstreamStatistics, 'entries'>;
  readonly upstreamServers: UpstreamSources['upstreams'];
  /** The number of known servers of each stub domain. */
  readonly stubServers: () => Iterable<readonly [domain: string, servers: number]>;
  readonly dnsPort: { readonly listeners: readonly CountedListener[] };
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
  keyof MetricsAbout | 'zoneCounts' | 'watches' | 'snapshot' | 'stubServers'
> & {
  readonly flags: Pick<KubednsFlags, 'coredns-metrics' | 'domain' | 'dns-port'>;
  readonly zone: ClusterZone;
  readonly watch: Pick<ClusterWatch, 'statistics' | 'snapshot'>;
  readonly servers: Pick<Upstreams, 'stubServers'>;
  readonly programming: ProgrammingTimes;
};

/** Every metric, with `--coredns-metrics` also under the names of CoreDNS. */
export function allFamilies(parts: MeteredParts, about: MetricsAbout): MetricFamily[] {
  const { flags, zone, watch, servers, statistics, programming } = parts;
  const own = metricFamilies({
    ...parts,
    ...about,
    zoneCounts: () => zone.countRecords(),
    watches: () => watch.statistics,
    snapshot: () => watch.snapshot,
    stubServers: () => servers.stubServers(),
  });
  if (!flags['coredns-metrics']) return own;
  const { domain, 'dns-port': port } = flags;
  return [...own, ...corednsFamilies(own, { statistics, programming, domain, port })];
}

const PREFIX = metricPrefix('kubedns', {
  // What kubedns words in its own way.
  subscribers: 'Forwarders that are notified which names change.',
  subscription_lag_seconds:
    'Time from a change of the zone until it is announced to subscribers, or to a slow one.',
  subscription_names_total: 'Names that changed and were announced to subscribers or by NOTIFY.',
});

/** Every metric of kubedns: those of its mechanisms, and its own. */
export function metricFamilies(sources: MetricSources): MetricFamily[] {
  return [
    ...skydnsFamilies(sources),
    ...programFamilies(PREFIX, sources),
    ...zoneFamilies(sources),
    ...subscriberFamilies(PREFIX, 'subscription', () => sources.subscribers),
    ...notifierFamilies(PREFIX, () => sources.notified),
    ...transferFamilies(sources),
    ...watchFamilies(sources),
    ...snapshotFamilies(sources),
    ...configFamilies(PREFIX, ['source', 'version'], () => {
      const { source, version, generation, appliedMs, rejected } = sources.configuration;
      const unknownKeys = sources.configuration.unknownKeys.count;
      return { labels: { source, version }, generation, appliedMs, rejected, unknownKeys };
    }),
    ...forwardingFamilies(sources),
    ...upstreamFamilies(PREFIX, () => ({
      forwarder: sources.forwarder,
      statistics: sources.upstreams,
      upstreams: sources.upstreamServers,
    })),
    ...listenerFamilies(PREFIX, () => sources.dnsPort.listeners),
    ...telemetryFamilies(PREFIX, () => sources.telemetry),
  ];
}

const DURATIONS_HELP = 'Histogram of the time (in seconds) each request took to resolve.';
const SIZES_HELP = 'Size of the returns response in bytes.';

/**
 * The query statistics under the names of skydns. Names and help texts are a contract. Every series exists from the
 * start, so that the first error is an increase.
 */
function skydnsFamilies({ prefix, statistics }: MetricSources): MetricFamily[] {
  const { counter, histogram } = metricPrefix(prefix);
  const bySystem = (histograms: () => QueryStatistics['durations']) =>
    labelled(['system'], () =>
      SYSTEMS.map((system) => ({ labels: { system }, histogram: histograms()[system] })),
    );
  return [
    counter(
      'dns_request_count_total',
      'Counter of DNS requests made.',
      byKey('system', () => statistics.requests),
    ),
    histogram(
      'dns_request_duration_seconds',
      DURATIONS_HELP,
      bySystem(() => statistics.durations),
    ),
    histogram(
      'dns_response_size_bytes',
      SIZES_HELP,
      bySystem(() => statistics.sizes),
    ),
    counter(
      'dns_error_count_total',
      'Counter of DNS requests resulting in an error.',
      labelled(['cause', 'system'], () =>
        SYSTEMS.flatMap((system) =>
          CAUSES.map((cause) => ({
            labels: { cause, system },
            value: statistics.errors[system][cause],
          })),
        ),
      ),
    ),
    counter(
      'dns_cachemiss_count_total',
      'Counter of DNS requests that result in a cache miss.',
      byKey('cache', () => ({ response: statistics.cacheMisses })),
    ),
  ];
}

function zoneFamilies(sources: MetricSources): MetricFamily[] {
  const { counter, gauge, histogram } = PREFIX;
  return [
    gauge('ready', '1 while /readiness answers 200, else 0.', () => Number(sources.isReady())),
    gauge(
      'records',
      'Records of the names of services and of addresses.',
      byKey('type', () => sources.zoneCounts()),
    ),
    gauge(
      'outside_names',
      'Names that are answered beside the zone of the cluster, by source: hosts is the key of the configuration.',
      by('source', () => [
        ['hosts', sources.hosts.size],
        ...sources.beside.map(({ id, count }) => [id, count?.().names ?? 0] as const),
      ]),
    ),
    gauge(
      'outside_names_left_out',
      'Names that are not answered beside the zone of the cluster, as they are too long or too many, by source.',
      by('source', () =>
        sources.beside.map(({ id, count }) => [id, count?.().leftOut ?? 0] as const),
      ),
    ),
    gauge(
      'outside_name_conflicts',
      'Hosts of --route-names that several objects take, with different addresses: the oldest has them.',
      () => sources.beside.reduce((sum, { count }) => sum + (count?.().conflicts ?? 0), 0),
    ),
    counter(
      'wildcard_queries_total',
      'Questions about names of the zone with a label *.',
      () => sources.statistics.wildcards,
    ),
    histogram(
      'event_to_served_seconds',
      'Time from the event of an object until its records are served.',
      () => sources.eventToServed,
    ),
  ];
}

function optionalState({ isAbsent, isDenied, isSynced }: WatchStatistics): number {
  if (isAbsent) return 1;
  return isDenied || !isSynced ? 0 : 2;
}

function transferFamilies({ transfers }: MetricSources): MetricFamily[] {
  const { counter, gauge } = PREFIX;
  const none = Object.fromEntries(TRANSFER_RESULTS.map((result) => [result, 0]));
  return [
    counter(
      'transfers_total',
      'Requests of secondaries for a transfer of a zone (--transfer-to), by result.',
      byKey('result', () => transfers?.results ?? none),
    ),
    gauge(
      'transfers_running',
      'Transfers of zones that are not complete yet.',
      () => transfers?.running ?? 0,
    ),
  ];
}

function watchFamilies({ watches, now = () => performance.now() }: MetricSources): MetricFamily[] {
  const { counter, gauge } = PREFIX;
  const each = (valueOf: (watch: WatchStatistics) => number) =>
    by('resource', () => Array.from(watches(), (watch) => [watch.resource, valueOf(watch)]));
  return [
    gauge(
      'objects',
      'Stored API objects, by resource.',
      each(({ objects }) => objects),
    ),
    gauge(
      'last_event_age_seconds',
      'Time since the last event of a resource from the API server.',
      by('resource', () =>
        Array.from(watches())
          .filter(({ lastEventMs }) => lastEventMs > 0)
          .map(({ resource, lastEventMs }) => [resource, (now() - lastEventMs) / 1_000]),
      ),
    ),
    counter(
      'relists_total',
      'Lists of a resource after the first one.',
      each(({ relists }) => relists),
    ),
    counter(
      'rejected_objects_total',
      'Objects left out because they are not valid, by resource.',
      each(({ rejected }) => rejected),
    ),
    counter(
      'watch_objects_passed_over_total',
      'Objects passed over because they are too large to be read, by resource.',
      each(({ passedOver }) => passedOver),
    ),
    gauge(
      'watch_over_limit',
      '1 while objects of a resource are missing because they exceed --max-objects or --max-stored-bytes.',
      each(({ isOverLimit }) => Number(isOverLimit)),
    ),
    gauge(
      'watch_optional_state',
      'State of a resource that the zone does without: 2 watched, 1 not installed, 0 denied or not listed yet.',
      by('resource', () =>
        Array.from(watches())
          .filter(({ isOptional }) => isOptional)
          .map((watch) => [watch.resource, optionalState(watch)]),
      ),
    ),
    counter(
      'watch_restarts_total',
      'Restarts of watches, by resource and reason.',
      byBoth(['resource', 'reason'], () =>
        Array.from(watches(), ({ resource, restarts }) => [resource, restarts]),
      ),
    ),
  ];
}

function snapshotFamilies({ snapshot, snapshots }: MetricSources): MetricFamily[] {
  const { counter, gauge } = PREFIX;
  return [
    gauge(
      'snapshot_serving',
      '1 while answers are from a snapshot, as the API server was not reached since the start.',
      () => Number(snapshot() !== undefined),
    ),
    gauge(
      'snapshot_age_seconds',
      'Age of the snapshot that answers are from; 0 while they are not from one.',
      () => {
        const served = snapshot();
        return served === undefined ? 0 : snapshotSeconds(served);
      },
    ),
    gauge(
      'snapshot_last_write_timestamp_seconds',
      'When --snapshot-file was written, in seconds since 1970; 0 before.',
      () => snapshots.writtenMs / 1_000,
    ),
    gauge('snapshot_bytes', 'Size of --snapshot-file.', () => snapshots.bytes),
    counter(
      'snapshot_writes_total',
      'Writes of --snapshot-file, by result: ok or failed.',
      byKey('result', () => snapshots.writes),
    ),
  ];
}

function forwardingFamilies({ forwarder, stubServers }: MetricSources): MetricFamily[] {
  const { counter, gauge } = PREFIX;
  return [
    counter(
      'upstream_queries_total',
      'Questions forwarded to name servers.',
      () => forwarder.counters.forwarded,
    ),
    gauge(
      'stub_domain_servers',
      'Known name servers of a stub domain; 0 while none of its names is resolved.',
      by('domain', () => Array.from(stubServers()).slice(0, MAX_STUB_DOMAINS)),
    ),
  ];
}

/** From 1 ms to some 9 minutes, as coredns plugin/kubernetes/object/metrics.go has them. */
const PROGRAMMING_BOUNDS = Array.from({ length: 20 }, (_, i) => 0.001 * 2 ** i);

/**
 * From what made the endpoints of a service change until their records are served, by the kind of the service as CoreDNS
 * names it (plugin/kubernetes/object/metrics.go). The controller of endpoints notes the time only where a service has a
 * selector.
 */
export class ProgrammingTimes {
  readonly seconds = {
    cluster_ip: new BucketHistogram(PROGRAMMING_BOUNDS),
    headless_with_selector: new BucketHistogram(PROGRAMMING_BOUNDS),
  } as const;

  /** Of a service of this kind; one that is not known is not counted. The clocks of two machines differ: 0 at least. */
  note(kind: Service['kind'] | undefined, ms: number): void {
    if (kind === undefined || kind === 'external-name') return;
    const name = kind === 'headless' ? 'headless_with_selector' : 'cluster_ip';
    this.seconds[name].observe(Math.max(ms, 0) / 1_000);
  }
}

/** Facts for the labels of CoreDNS that our metrics do not have. */
interface CorednsFacts {
  readonly statistics: Pick<QueryStatistics, 'durations' | 'sizes'>;
  readonly programming: Pick<ProgrammingTimes, 'seconds'>;
  /** With a final dot. */
  readonly domain: string;
  readonly port: number;
}

/**
 * The metrics that CoreDNS also has, under its names and labels (with those of coredns plugin/metrics), so that one
 * dashboard shows both. A label that we do not count by is left out.
 */
export function corednsFamilies(
  families: readonly MetricFamily[],
  { statistics, programming, domain, port }: CorednsFacts,
): MetricFamily[] {
  const here = { server: `dns://:${port}`, view: '' };
  const { histogram } = metricPrefix('coredns');
  // A system of skydns is a zone of CoreDNS.
  const zones = { auth: domain, reverse: 'in-addr.arpa.', recursive: '.' } as const;
  const byZone = (histograms: () => QueryStatistics['durations']) =>
    labelled(['server', 'view', 'zone'], () =>
      (['auth', 'reverse', 'recursive'] as const).map((system) => ({
        labels: { ...here, zone: zones[system] },
        histogram: histograms()[system],
      })),
    );
  return [
    ...renamedFamilies(families, corednsRenames('kubedns', here)),
    histogram(
      'dns_request_duration_seconds',
      DURATIONS_HELP,
      byZone(() => statistics.durations),
    ),
    histogram(
      'dns_response_size_bytes',
      SIZES_HELP,
      byZone(() => statistics.sizes),
    ),
    histogram(
      'kubernetes_dns_programming_duration_seconds',
      'Histogram of the time (in seconds) it took to program a dns instance.',
      labelled(['service_kind'], () =>
        Object.entries(programming.seconds).map(([kind, seconds]) => ({
          labels: { service_kind: kind },
          histogram: seconds,
        })),
      ),
    ),
  ];
}
