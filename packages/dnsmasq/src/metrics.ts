import {
  by,
  byKey,
  configFamilies,
  type ConfigDirectory,
  corednsRenames,
  type CountedListener,
  listenerFamilies,
  type MetricFamily,
  metricPrefix,
  NO_UNKNOWN_KEYS,
  type MetricRename,
  programFamilies,
  type ProgramFacts,
  type UnknownKeys,
  renamedFamilies,
  upstreamFamilies,
  type UpstreamSources,
} from '@kube-dns/daemon';
import {
  type SubscriberCounts,
  subscriberFamilies,
  subscriptionFamilies,
  type SubscriptionRow,
} from '@kube-dns/push';
import type { Resolver, ServerStatistics } from '@kube-dns/resolver';
import { type Telemetry, telemetryFamilies } from '@kube-dns/telemetry';
import type { NotifyAnswerer } from './notify/notify-answerer.js';

/** The sources of the values; they are read at each scrape. */
interface MetricSources extends ProgramFacts {
  readonly port: { readonly listeners: readonly CountedListener[] };
  readonly resolver: Pick<Resolver, 'describe'>;
  readonly statistics: Pick<ServerStatistics, 'entries'>;
  readonly upstreams: UpstreamSources['upstreams'];
  readonly subscriptions: { rows(): readonly SubscriptionRow[] };
  readonly subscribers: SubscriberCounts;
  readonly notifies: Pick<NotifyAnswerer, 'results'>;
  readonly config: Pick<AppliedConfig, 'version' | 'generation' | 'appliedMs' | 'unknownKeys'>;
  readonly configDirectory: Pick<ConfigDirectory, 'rejected'>;
  readonly telemetry: Telemetry;
}

/** What dnsmasq words in its own way. */
const TEXTS = {
  answer_failures_total:
    'Questions that could not be answered because of a defect; the client got SERVFAIL.',
  config_applied_timestamp_seconds:
    'When the active ConfigMap was applied, in seconds since the epoch; 0 without one.',
  config_generation: 'ConfigMaps that were activated since the start, including the first.',
  config_info: 'Version of the active ConfigMap, empty without one; always 1.',
  config_rejected_total: 'ConfigMaps that could not be read or were refused.',
  messages_total: 'Messages received, good or bad, by protocol.',
  refused_messages_total: 'Messages that were not answered as queries, by reason.',
  send_errors_total: 'Answers that the system did not accept for sending.',
  tcp_connections_open: 'TCP connections that are open now.',
  tcp_connections_total: 'TCP connections, by how they were handled.',
  truncated_answers_total: 'Answers that were truncated to the size that the client accepts.',
  udp_engine_info: 'How datagrams are moved; always 1.',
  upstream_failures_total: 'Queries that got SERVFAIL because no name server answered in time.',
  upstream_in_flight: 'Questions that wait for a name server.',
  upstream_overflows_total:
    'Queries that were refused because too many were in flight (--dns-forward-max).',
  upstream_server_failures_total: 'Questions that a name server did not answer, by reason.',
  upstream_server_latency_seconds: 'Time until the reply of a name server.',
  upstream_server_queries_total:
    'Questions that were sent to a name server, including retransmissions.',
} as const;

const PREFIX = metricPrefix('dnsmasq', TEXTS);

/** Every metric of dnsmasq, which has none itself: those of its mechanisms, and its own. */
export function metricFamilies(sources: MetricSources): MetricFamily[] {
  const { config, configDirectory, resolver, statistics, upstreams } = sources;
  return [
    ...programFamilies(PREFIX, sources),
    ...answerFamilies(sources),
    ...upstreamFamilies(PREFIX, () => ({ ...resolver.describe(), statistics, upstreams })),
    ...forwardingFamilies(sources),
    ...subscriptionFamilies(PREFIX, () => sources.subscriptions.rows()),
    ...subscriberFamilies(PREFIX, 'subscribers', () => sources.subscribers),
    ...configFamilies(PREFIX, ['version'], () => {
      const { version, generation, appliedMs } = config;
      const { rejected } = configDirectory;
      const unknownKeys = config.unknownKeys.count;
      return { labels: { version }, generation, appliedMs, rejected, unknownKeys };
    }),
    ...listenerFamilies(PREFIX, () => sources.port.listeners),
    ...telemetryFamilies(PREFIX, () => sources.telemetry),
  ];
}

/** How queries were answered, and the cache. */
function answerFamilies({ resolver }: MetricSources): MetricFamily[] {
  const { counter, gauge } = PREFIX;
  const answers = () => resolver.describe().answers;
  const cache = () => resolver.describe().cache;
  return [
    counter(
      'hits_total',
      'Queries over UDP that were answered without asking a name server (hits.bind).',
      () => answers().unforwarded,
    ),
    counter(
      'misses_total',
      'Queries over UDP for which a name server was asked (misses.bind).',
      () => answers().forwarded,
    ),
    counter(
      'stale_answers_total',
      'Queries that were answered with expired records (--stale, --use-stale-cache).',
      () => answers().staleAnswers,
    ),
    counter(
      'stale_answers_by_reason_total',
      'The same of --stale: no reply in time, no usable reply, or known not to come.',
      byKey('reason', () => answers().staleReasons),
    ),
    gauge(
      'cache_max_records',
      'Maximum of records in the cache (--cache-size).',
      () => cache().maxRecords,
    ),
    gauge(
      'cache_records',
      'Records in the cache, including expired ones that no client has asked for since.',
      () => cache().records,
    ),
    gauge('cache_bytes', 'Memory of the names and records in the cache.', () => cache().usedBytes),
    counter(
      'cache_insertions_total',
      'Records that were stored in the cache.',
      () => cache().totalInsertions,
    ),
    counter(
      'cache_evictions_total',
      'Unexpired answers that were removed from the cache for lack of space: it is too small.',
      () => cache().totalEvictions,
    ),
  ];
}

/** What is only in dnsmasq of questions to servers, and the messages that servers send by themselves. */
function forwardingFamilies({ resolver, statistics, notifies }: MetricSources): MetricFamily[] {
  const { counter, gauge } = PREFIX;
  return [
    counter(
      'prefetches_total',
      'Answers that were asked for before they expired, by result (--prefetch).',
      byKey('result', () => resolver.describe().forwarder.prefetches),
    ),
    counter(
      'upstream_joined_total',
      'Queries that joined a question already in flight.',
      () => resolver.describe().forwarder.counters.joined,
    ),
    gauge(
      'upstream_server_up',
      'Whether a name server is used: 0 while it does not reply.',
      by('server', () =>
        Array.from(statistics.entries(), ([server, { isUp }]) => [server, Number(isUp)]),
      ),
    ),
    counter(
      'notifies_total',
      'NOTIFY messages by result: accepted, or why they dropped nothing (--allow-notify).',
      byKey('result', () => notifies.results),
    ),
  ];
}

/**
 * The metrics that CoreDNS also has, under its names and labels (with those of coredns plugin/cache), so that one
 * dashboard shows both. A label that we do not count by is left out.
 */
export function corednsFamilies(families: readonly MetricFamily[], port: number): MetricFamily[] {
  const server = `dns://:${port}`;
  const constant = { server, zones: '.', view: '' };
  const cached: readonly MetricRename[] = [
    { from: 'dnsmasq_cache_records', to: 'coredns_cache_entries', constant },
    { from: 'dnsmasq_hits_total', to: 'coredns_cache_hits_total', constant },
    { from: 'dnsmasq_misses_total', to: 'coredns_cache_misses_total', constant },
    { from: 'dnsmasq_cache_evictions_total', to: 'coredns_cache_evictions_total', constant },
    { from: 'dnsmasq_stale_answers_total', to: 'coredns_cache_served_stale_total', constant },
  ];
  const renames = corednsRenames('dnsmasq', { server, zone: '.', view: '' });
  return renamedFamilies(families, [...renames, ...cached]);
}

/** Which version of the ConfigMap is active, and since when. */
export class AppliedConfig {
  /** A hash of its content, '' before the first. */
  version = '';
  /** How many were activated. */
  generation = 0;
  /** When, in ms since the epoch; 0 before the first. */
  appliedMs = 0;
  unknownKeys = NO_UNKNOWN_KEYS;

  /** A version is active from now on. */
  note(version: string, unknownKeys: UnknownKeys, nowMs = Date.now()): void {
    this.version = version;
    this.unknownKeys = unknownKeys;
    this.generation++;
    this.appliedMs = nowMs;
  }
}
