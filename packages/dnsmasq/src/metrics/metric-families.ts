import {
  type ConfigDirectory,
  type CountedListener,
  counter,
  type EncryptedNameServer,
  gauge,
  info,
  type LabelledValue,
  listenerFamilies,
  type MetricFamily,
  type MetricRename,
  nameServerFamilies,
  type ProgramFacts,
  renamedFamilies,
} from '@kube-dns/daemon';
import { type SubscriberCounts, subscriberFamilies, type SubscriptionRow } from '@kube-dns/push';
import type { AnswerCache, AnswerCounters, ServerStatistics } from '@kube-dns/resolver';
import { type Telemetry, telemetryFamilies } from '@kube-dns/telemetry';
import type { QueryForwarder } from '@kube-dns/transport';
import type { NotifyAnswerer } from '../notify/notify-answerer.js';
import {
  LISTENER_METRICS,
  OWN_METRICS,
  SUBSCRIBER_METRICS,
  SUBSCRIPTION_METRICS,
  TELEMETRY_METRICS,
  UPSTREAM_METRICS,
} from './metric-table.js';

/** The sources of the values; they are read at each scrape. */
interface MetricSources extends ProgramFacts {
  readonly counters: AnswerCounters;
  readonly port: { readonly listeners: readonly CountedListener[] };
  readonly cache: Pick<AnswerCache, 'maxRecords' | 'recordCount' | 'usedBytes'>;
  readonly cacheTotals: Pick<CacheTotals, 'insertions' | 'evictions'>;
  readonly forwarder: Pick<QueryForwarder, 'counters' | 'inFlight' | 'prefetches'>;
  readonly statistics: Pick<ServerStatistics, 'entries'>;
  readonly upstreams: {
    readonly all: Iterable<EncryptedNameServer>;
    readonly rejectedReplies: number;
  };
  readonly subscriptions: () => readonly SubscriptionRow[];
  readonly subscribers: SubscriberCounts;
  readonly notifies: Pick<NotifyAnswerer, 'results'>;
  readonly config: Pick<AppliedConfig, 'version' | 'generation' | 'appliedMs'>;
  readonly configDirectory: Pick<ConfigDirectory, 'rejected'>;
  readonly telemetry: Telemetry;
}

/** Every metric of dnsmasq: see the table of names. */
export function metricFamilies(sources: MetricSources): MetricFamily[] {
  const { version, counters, cache, cacheTotals, forwarder, config, configDirectory } = sources;
  const { unexpectedErrors, statistics, subscriptions, notifies, port } = sources;
  return [
    info(OWN_METRICS.buildInfo, () => ({ version })),
    counter(OWN_METRICS.hits, () => counters.hits),
    counter(OWN_METRICS.misses, () => counters.misses),
    counter(OWN_METRICS.staleAnswers, () => counters.staleAnswers),
    counter(OWN_METRICS.staleReasons, () =>
      Object.entries(counters.staleReasons).map(([reason, value]) => ({
        labels: { reason },
        value,
      })),
    ),
    counter(OWN_METRICS.prefetches, () =>
      Object.entries(forwarder.prefetches).map(([result, value]) => ({
        labels: { result },
        value,
      })),
    ),
    gauge(OWN_METRICS.cacheSize, () => cache.maxRecords),
    gauge(OWN_METRICS.cacheRecords, () => cache.recordCount),
    gauge(OWN_METRICS.cacheBytes, () => cache.usedBytes),
    counter(OWN_METRICS.insertions, () => cacheTotals.insertions),
    counter(OWN_METRICS.evictions, () => cacheTotals.evictions),
    counter(OWN_METRICS.upstreamJoined, () => forwarder.counters.joined),
    gauge(OWN_METRICS.upstreamInFlight, () => forwarder.inFlight),
    counter(OWN_METRICS.upstreamOverflows, () => forwarder.counters.overflows),
    counter(OWN_METRICS.upstreamRejected, () => sources.upstreams.rejectedReplies),
    counter(OWN_METRICS.upstreamFailures, () => forwarder.counters.failures),
    gauge(OWN_METRICS.serverUp, () =>
      Array.from(statistics.entries(), ([server, { isUp }]) => ({
        labels: { server },
        value: Number(isUp),
      })),
    ),
    ...subscriptionFamilies(subscriptions),
    ...subscriberFamilies(SUBSCRIBER_METRICS, () => sources.subscribers),
    counter(OWN_METRICS.notifies, () =>
      Object.entries(notifies.results).map(([result, value]) => ({ labels: { result }, value })),
    ),
    info(OWN_METRICS.configInfo, () => ({ version: config.version })),
    gauge(OWN_METRICS.configGeneration, () => config.generation),
    gauge(OWN_METRICS.configApplied, () => config.appliedMs / 1_000),
    counter(OWN_METRICS.configRejected, () => configDirectory.rejected),
    counter(OWN_METRICS.unexpectedErrors, unexpectedErrors),
    ...nameServerFamilies(
      UPSTREAM_METRICS,
      () => statistics.entries(),
      () => sources.upstreams.all,
    ),
    ...listenerFamilies(LISTENER_METRICS, () => port.listeners),
    ...telemetryFamilies(TELEMETRY_METRICS, () => sources.telemetry),
  ];
}

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

/**
 * The metrics that CoreDNS also has, under its names and labels (coredns plugin/metrics, cache, forward and
 * reload), so that one dashboard shows both. A label that we do not count by is left out.
 */
export function corednsFamilies(families: readonly MetricFamily[], port: number): MetricFamily[] {
  const server = `dns://:${port}`;
  const here = { server, zone: '.', view: '' };
  const cached = { server, zones: '.', view: '' };
  const renames: readonly MetricRename[] = [
    { from: 'dnsmasq_build_info', to: 'coredns_build_info' },
    { from: 'dnsmasq_unexpected_errors_total', to: 'coredns_panics_total' },
    {
      from: 'dnsmasq_messages_total',
      to: 'coredns_dns_requests_total',
      labels: { protocol: 'proto' },
      constant: here,
    },
    { from: 'dnsmasq_answers_total', to: 'coredns_dns_responses_total', constant: here },
    { from: 'dnsmasq_cache_records', to: 'coredns_cache_entries', constant: cached },
    { from: 'dnsmasq_hits_total', to: 'coredns_cache_hits_total', constant: cached },
    { from: 'dnsmasq_misses_total', to: 'coredns_cache_misses_total', constant: cached },
    {
      from: 'dnsmasq_cache_evictions_total',
      to: 'coredns_cache_evictions_total',
      constant: cached,
    },
    {
      from: 'dnsmasq_stale_answers_total',
      to: 'coredns_cache_served_stale_total',
      constant: cached,
    },
    {
      from: 'dnsmasq_upstream_overflows_total',
      to: 'coredns_forward_max_concurrent_rejects_total',
    },
    {
      from: 'dnsmasq_upstream_server_latency_seconds',
      to: 'coredns_proxy_request_duration_seconds',
      labels: { server: 'to' },
      constant: { proxy_name: 'forward' },
    },
    { from: 'dnsmasq_config_rejected_total', to: 'coredns_reload_failed_total' },
  ];
  return renamedFamilies(families, renames);
}

/** Which version of the ConfigMap is active, and since when. */
export class AppliedConfig {
  /** A hash of its content, '' before the first. */
  version = '';
  /** How many were activated. */
  generation = 0;
  /** When, in ms since the epoch; 0 before the first. */
  appliedMs = 0;

  /** A version is active from now on. */
  note(version: string, nowMs = Date.now()): void {
    this.version = version;
    this.generation++;
    this.appliedMs = nowMs;
  }
}

/**
 * Insertions and evictions since the start of the process: the cache resets its counts when it is
 * emptied, as dnsmasq does, and a counter must not decrease.
 */
export class CacheTotals {
  readonly #cache: Pick<AnswerCache, 'insertions' | 'evictions'>;
  #insertions = 0;
  #evictions = 0;

  constructor(cache: Pick<AnswerCache, 'insertions' | 'evictions'>) {
    this.#cache = cache;
  }

  get insertions(): number {
    return this.#insertions + this.#cache.insertions;
  }

  get evictions(): number {
    return this.#evictions + this.#cache.evictions;
  }

  /** Adds the cache's counts to the totals; to be called before the cache is emptied. */
  retain(): void {
    this.#insertions = this.insertions;
    this.#evictions = this.evictions;
  }
}
