import {
  type ConfigDirectory,
  type CountedListener,
  counter,
  gauge,
  info,
  listenerFamilies,
  type MetricFamily,
  type EncryptedNameServer,
  nameServerFamilies,
  type ProgramFacts,
} from '@kube-dns/daemon';
import { type SubscriberCounts, subscriberFamilies, type SubscriptionRow } from '@kube-dns/push';
import type { QueryForwarder } from '@kube-dns/transport';
import { type AnswerCache, type AnswerCounters, type ServerStatistics } from '@kube-dns/resolver';
import { type Telemetry, telemetryFamilies } from '@kube-dns/telemetry';
import type { NotifyAnswerer } from '../notify/notify-answerer.js';
import type { AppliedConfig } from './applied-config.js';
import type { CacheTotals } from './cache-totals.js';
import {
  LISTENER_METRICS,
  OWN_METRICS,
  SUBSCRIBER_METRICS,
  TELEMETRY_METRICS,
  UPSTREAM_METRICS,
} from './metric-table.js';
import { subscriptionFamilies } from './subscription-families.js';

/** The sources of the values; they are read at each scrape. */
export interface MetricSources extends ProgramFacts {
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
