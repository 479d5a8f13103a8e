import {
  BucketHistogram,
  counter,
  gauge,
  histogram,
  info,
  type LabelledHistogram,
  type LabelledValue,
  type MetricFamily,
  type ProgramFacts,
} from '@kube-dns/daemon';
import { type Telemetry, telemetryFamilies, type TelemetryMetrics } from '@kube-dns/telemetry';
import { RCODE_NAMES } from '@kube-dns/wire';
import { TYPE_LABELS, type ZoneCounters } from './answer/zones.js';
import type { ServerBlock } from './corefile/server-block.js';
import type { ListenPoint, ServedZone } from './listen/listen-points.js';
import type { NetworkState, SetupErrors } from './network/network-setup.js';
import type { NodeCacheServer } from './server.js';

interface MetricSources {
  readonly server: NodeCacheServer;
  readonly telemetry: Telemetry;
  readonly facts: ProgramFacts;
  /** Failures of the set-up of the network, and ConfigMaps that could not be read. */
  readonly setupErrors: () => SetupErrors & { readonly configmap: number };
  readonly network: () => NetworkState;
  /** Corefiles that were refused while another one was obeyed. */
  readonly refusedCorefiles: () => number;
}

/** The metrics of the original's node-cache and its plugins under their names and labels, then our own. */
export function metricFamilies(sources: MetricSources): MetricFamily[] {
  const { server, telemetry, facts, setupErrors, network, refusedCorefiles } = sources;
  return [
    counter(
      {
        name: 'coredns_nodecache_setup_errors_total',
        help: 'Failures of the set-up of interface, rules and configuration, by what failed.',
        labelNames: ['errortype'],
      },
      () =>
        Object.entries(setupErrors()).map(([errortype, value]) => ({
          labels: { errortype },
          value: value as number,
        })),
    ),
    ...dnsFamilies(() => server.points.all),
    ...cacheFamilies(() => server.points.all),
    ...forwardFamilies(server),
    ...pluginFamilies(server),
    ...telemetryFamilies(TELEMETRY_METRICS, () => telemetry),
    counter(
      { name: 'coredns_reload_failed_total', help: 'Corefiles that were refused.' },
      refusedCorefiles,
    ),
    counter(
      {
        name: 'coredns_panics_total',
        help: 'Uncaught errors; each is logged, and none ends the process.',
      },
      facts.unexpectedErrors,
    ),
    info(
      {
        name: 'coredns_build_info',
        help: 'The version of the program.',
        labelNames: ['version', 'revision', 'goversion'],
      },
      () => ({ version: facts.version, revision: '', goversion: '' }),
    ),
    gauge(
      {
        name: 'nodecache_rules_active',
        help: 'Whether the rules of the node lead to this process.',
        labelNames: ['tool'],
      },
      () => {
        const { tool = 'none', hasRules } = network();
        return [{ labels: { tool }, value: Number(hasRules) }];
      },
    ),
  ];
}

/** Answers by source, the query log and dnstap. */
const TELEMETRY_METRICS = {
  answersBySource: {
    name: 'nodecache_answers_by_source_total',
    help: 'Queries by where their answers came from; none: they got no answer.',
    labelNames: ['source'],
  },
  slowAnswers: {
    name: 'nodecache_slow_answers_total',
    help: 'Answers that took a second or longer, or as long as slow= of --query-log says.',
  },
  queryLogLines: {
    name: 'nodecache_query_log_lines_total',
    help: 'Lines that the query log has written (--query-log).',
  },
  queryLogDropped: {
    name: 'nodecache_query_log_dropped_lines_total',
    help: 'Lines of the query log that were not written because stdout was read too slowly.',
  },
  dnstapMessages: {
    name: 'nodecache_dnstap_messages_total',
    help: 'Messages of dnstap (--dnstap) that its reader got, and that were dropped.',
    labelNames: ['result'],
  },
} as const satisfies TelemetryMetrics;

const WAYS = [
  { proto: 'udp', isTcp: false },
  { proto: 'tcp', isTcp: true },
] as const;
const FAMILIES = [
  { family: '1', isIpv6: false },
  { family: '2', isIpv6: true },
] as const;

/** The labels and counts of a zone at an address. */
interface Counted {
  readonly labels: { readonly server: string; readonly zone: string; readonly view: string };
  readonly plugin: string;
  readonly counters: ZoneCounters;
}

/** The metrics of coredns plugin/metrics, for each address and zone. */
function dnsFamilies(points: () => readonly ListenPoint[]): MetricFamily[] {
  const each = () => points().flatMap(countedAt);
  const bySize = (read: (counters: ZoneCounters) => ZoneCounters['requestBytes']) => () =>
    each().flatMap(({ labels, counters }) =>
      WAYS.map(({ proto }): LabelledHistogram => ({
        labels: { ...labels, proto },
        histogram: read(counters)[proto],
      })),
    );
  const zoneLabels = ['server', 'zone', 'view'];
  return [
    counter(
      {
        name: 'coredns_dns_requests_total',
        help: 'Queries, by address, zone, protocol, family (1 is IPv4) and type.',
        labelNames: [...zoneLabels, 'proto', 'family', 'type'],
      },
      () => each().flatMap((counted) => [...requests(counted)]),
    ),
    counter(
      {
        name: 'coredns_dns_do_requests_total',
        help: 'Queries with the bit DO, by address and zone.',
        labelNames: zoneLabels,
      },
      () => each().map(({ labels, counters }) => ({ labels, value: counters.dnssecRequests })),
    ),
    counter(
      {
        name: 'coredns_dns_responses_total',
        help: 'Answers, by address, zone, rcode and plugin.',
        labelNames: [...zoneLabels, 'rcode', 'plugin'],
      },
      () => each().flatMap((counted) => [...responses(counted)]),
    ),
    histogram(
      {
        name: 'coredns_dns_request_duration_seconds',
        help: 'Time from a query to its answer.',
        labelNames: zoneLabels,
      },
      () => each().map(({ labels, counters }) => ({ labels, histogram: counters.seconds })),
    ),
    histogram(
      {
        name: 'coredns_dns_request_size_bytes',
        help: 'Size of queries.',
        labelNames: [...zoneLabels, 'proto'],
      },
      bySize(({ requestBytes }) => requestBytes),
    ),
    histogram(
      {
        name: 'coredns_dns_response_size_bytes',
        help: 'Size of answers.',
        labelNames: [...zoneLabels, 'proto'],
      },
      bySize(({ responseBytes }) => responseBytes),
    ),
  ];
}

/** A zone as CoreDNS writes it: with its last dot. */
function zoneLabel(zone: string): string {
  return zone === '.' ? zone : `${zone}.`;
}

function countedAt({ label: server, answerer, zones }: ListenPoint): Counted[] {
  const served = zones.map(({ zone, counters, block: { block } }) => ({
    labels: { server, zone: zoneLabel(zone), view: '' },
    plugin: block.cache === undefined ? 'forward' : 'cache',
    counters,
  }));
  // What is in no zone, as CoreDNS labels it.
  const labels = { server, zone: 'dropped', view: '' };
  return [...served, { labels, plugin: '', counters: answerer.unserved }];
}

function* requests({ labels, counters }: Counted): Generator<LabelledValue> {
  for (const { proto, isTcp } of WAYS) {
    for (const { family, isIpv6 } of FAMILIES) {
      const counts = counters.requestsOf(isTcp, isIpv6);
      for (const [index, type] of TYPE_LABELS.entries()) {
        const value = counts[index]!;
        if (value > 0) yield { labels: { ...labels, proto, family, type }, value };
      }
    }
  }
}

function* responses({ labels, plugin, counters }: Counted): Generator<LabelledValue> {
  for (const [rcode, value] of counters.rcodes.entries()) {
    if (value === 0) continue;
    yield { labels: { ...labels, rcode: RCODE_NAMES[rcode] ?? `${rcode}`, plugin }, value };
  }
}

type Labels = Readonly<Record<string, string>>;

const LABELS = ['server', 'zones', 'view'];

/** The metrics of coredns plugin/cache: each address counts apart, while all share one cache per block. */
function cacheFamilies(points: () => readonly ListenPoint[]): MetricFamily[] {
  const each = (read: (zone: ServedZone, labels: Labels) => readonly LabelledValue[]) => () =>
    points().flatMap(({ label: server, zones }) =>
      zones
        .filter(({ block }) => block.cache !== undefined)
        .flatMap((zone) => read(zone, { server, zones: zoneLabel(zone.zone), view: '' })),
    );
  const one = (read: (zone: ServedZone) => number) =>
    each((zone, labels) => [{ labels, value: read(zone) }]);
  const byType = (read: (zone: ServedZone) => Readonly<Record<'success' | 'denial', number>>) =>
    each((zone, labels) =>
      Object.entries(read(zone)).map(([type, value]) => ({ labels: { ...labels, type }, value })),
    );
  const hits = ({ counters }: ServedZone) => counters.cacheHits.success + counters.cacheHits.denial;
  return [
    gauge(
      {
        name: 'coredns_cache_entries',
        help: 'Answers in the cache, with records and without.',
        labelNames: [...LABELS, 'type'],
      },
      byType(({ block }) => {
        const { entryCount, denialCount } = block.cache!;
        return { success: entryCount - denialCount, denial: denialCount };
      }),
    ),
    counter(
      {
        name: 'coredns_cache_requests_total',
        help: 'Queries that the cache was asked for.',
        labelNames: LABELS,
      },
      one((zone) => hits(zone) + zone.counters.cacheMisses),
    ),
    counter(
      {
        name: 'coredns_cache_hits_total',
        help: 'Answers from the cache, with records and without.',
        labelNames: [...LABELS, 'type'],
      },
      byType(({ counters }) => counters.cacheHits),
    ),
    counter(
      {
        name: 'coredns_cache_misses_total',
        help: 'Queries that the cache had no answer to.',
        labelNames: LABELS,
      },
      one(({ counters }) => counters.cacheMisses),
    ),
    counter(
      {
        name: 'coredns_cache_evictions_total',
        help: 'Answers removed for lack of space before they expired.',
        labelNames: LABELS,
      },
      one(({ block }) => block.cache!.evictions),
    ),
    counter(
      {
        name: 'coredns_cache_served_stale_total',
        help: 'Expired answers that clients got.',
        labelNames: LABELS,
      },
      one(({ block }) => block.counters.staleAnswers),
    ),
    counter(
      {
        name: 'coredns_cache_prefetch_total',
        help: 'Answers that were asked for before they expired.',
        labelNames: LABELS,
      },
      one(({ block }) => Object.values(block.forwarder.prefetches).reduce((sum, n) => sum + n, 0)),
    ),
    gauge(
      {
        name: 'nodecache_cache_bytes',
        help: 'Memory of the cache.',
        labelNames: LABELS,
      },
      one(({ block }) => block.cache!.takenBytes),
    ),
  ];
}

const PROXY = { proxy_name: 'forward' };
const PROXY_LABELS = ['proxy_name', 'to'];

/** The metrics of coredns plugin/forward and plugin/pkg/proxy. */
function forwardFamilies({ blocks, upstreams, subscriptions }: NodeCacheServer): MetricFamily[] {
  const sum = (read: (block: (typeof blocks.all)[number]) => number) => () =>
    blocks.all.reduce((total, block) => total + read(block), 0);
  const connections = (isReused: boolean) => () =>
    [...upstreams.all()].map(({ text, encrypted }) => {
      const { queries } = upstreams.statistics.of(text);
      const opened = encrypted?.handshakes ?? 0;
      const proto = encrypted === undefined ? 'udp' : 'tcp';
      // Over UDP sockets are shared, and renewed for their ports alone.
      const reused = Math.max(queries - opened, 0);
      return { labels: { ...PROXY, to: target(text), proto }, value: isReused ? reused : opened };
    });
  return [
    counter(
      {
        name: 'coredns_forward_max_concurrent_rejects_total',
        help: 'Queries that were refused because too many were in flight.',
      },
      sum(({ forwarder }) => forwarder.counters.overflows),
    ),
    counter(
      {
        name: 'coredns_forward_healthcheck_broken_total',
        help: 'Questions that no server answered.',
      },
      sum(({ forwarder }) => forwarder.counters.failures),
    ),
    histogram(
      {
        name: 'coredns_proxy_request_duration_seconds',
        help: 'Time from a question to the reply of its server.',
        labelNames: [...PROXY_LABELS, 'rcode'],
      },
      () => [...repliesByTarget(upstreams)],
    ),
    counter(
      {
        name: 'coredns_proxy_healthcheck_failures_total',
        help: 'Questions and probes that a server did not reply to.',
        labelNames: PROXY_LABELS,
      },
      () =>
        [...upstreams.statistics.entries()].map(([text, { health }]) => ({
          labels: { ...PROXY, to: target(text) },
          value: health.failures.timeout + health.failures.unreachable,
        })),
    ),
    counter(
      {
        name: 'coredns_proxy_conn_cache_hits_total',
        help: 'Questions over a connection that was open.',
        labelNames: [...PROXY_LABELS, 'proto'],
      },
      connections(true),
    ),
    counter(
      {
        name: 'coredns_proxy_conn_cache_misses_total',
        help: 'Connections that were opened.',
        labelNames: [...PROXY_LABELS, 'proto'],
      },
      connections(false),
    ),
    gauge(
      {
        name: 'nodecache_subscription_live',
        help: 'Whether the DNS of the cluster tells its changes, so that answers are kept until then.',
        labelNames: ['server'],
      },
      () =>
        subscriptions.rows().map(({ server, state }) => ({
          labels: { server },
          value: Number(state === 'live'),
        })),
    ),
  ];
}

/** A server that is asked over UDP and TCP is one here. */
function* repliesByTarget({
  statistics,
}: NodeCacheServer['upstreams']): Generator<LabelledHistogram> {
  const byTarget = new Map<string, (BucketHistogram | undefined)[]>();
  for (const [text, { byRcode }] of statistics.entries()) {
    const sums = byTarget.get(target(text)) ?? [];
    byTarget.set(target(text), sums);
    byRcode.forEach((seconds, rcode) => {
      if (seconds !== undefined) (sums[rcode] ??= new BucketHistogram(seconds.bounds)).add(seconds);
    });
  }
  for (const [to, sums] of byTarget) {
    for (const [rcode, histogram] of sums.entries()) {
      if (histogram === undefined) continue;
      yield { labels: { ...PROXY, to, rcode: RCODE_NAMES[rcode] ?? `${rcode}` }, histogram };
    }
  }
}

/** `ADDRESS:PORT`, as CoreDNS writes a server. */
function target(text: string): string {
  return text.replace(/^tcp:\/\//, '').replace('#', ':');
}

/** The metrics of coredns plugin/health and plugin/hosts, and which plugins are in use. */
function pluginFamilies({ blocks, points, probe }: NodeCacheServer): MetricFamily[] {
  const hosts = () => blocks.all.flatMap(({ hosts: file }) => file ?? []);
  return [
    histogram(
      {
        name: 'coredns_health_request_duration_seconds',
        help: 'Time until this process answers its own probe, over DNS.',
      },
      () => [{ labels: {}, histogram: probe.seconds }],
    ),
    counter(
      {
        name: 'coredns_health_request_failures_total',
        help: 'Probes that this process did not answer in time.',
      },
      () => probe.failures,
    ),
    gauge(
      {
        name: 'coredns_plugin_enabled',
        help: 'The plugins of each zone.',
        labelNames: ['server', 'zone', 'view', 'name'],
      },
      () =>
        points.all.flatMap(({ label: server, zones }) =>
          zones.flatMap(({ zone, block }) =>
            pluginsOf(block.block).map((name) => ({
              labels: { server, zone: zoneLabel(zone), view: '', name },
              value: 1,
            })),
          ),
        ),
    ),
    gauge({ name: 'coredns_hosts_entries', help: 'Names and addresses of hosts files.' }, () =>
      hosts().reduce((sum, { size }) => sum + size, 0),
    ),
    gauge(
      {
        name: 'coredns_hosts_reload_timestamp_seconds',
        help: 'When a hosts file was read last.',
      },
      () => Math.max(0, ...hosts().map(({ readAtSeconds }) => readAtSeconds)),
    ),
  ];
}

function pluginsOf(block: ServerBlock): string[] {
  const {
    addresses,
    cache,
    detectsLoops,
    forward,
    health,
    hosts,
    log,
    logsErrors,
    metrics,
    ready,
  } = block;
  const plugins: Readonly<Record<string, boolean>> = {
    bind: addresses.length > 0,
    cache: cache !== undefined,
    errors: logsErrors,
    forward: forward !== undefined,
    health: health !== undefined,
    hosts: hosts !== undefined,
    log: log !== undefined,
    loop: detectsLoops,
    prometheus: metrics !== undefined,
    ready: ready !== undefined,
  };
  return Object.keys(plugins).filter((name) => plugins[name]);
}
