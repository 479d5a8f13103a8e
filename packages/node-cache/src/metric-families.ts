import {
  BucketHistogram,
  byKey,
  labelled,
  type LabelledHistogram,
  type LabelledValue,
  type MetricFamily,
  metricPrefix,
  overloadFamilies,
  type ProgramFacts,
  tcpFamilies,
} from '@kube-dns/daemon';
import { subscriptionFamilies } from '@kube-dns/push';
import { type Telemetry, telemetryFamilies } from '@kube-dns/telemetry';
import { RCODE_NAMES } from '@kube-dns/wire';
import { TYPE_LABELS, type ZoneCounters } from './answer/zones.js';
import type { CorefileSource } from './config/corefile-source.js';
import type { ServerBlock } from './corefile/server-block.js';
import type { ListenPoint, ServedZone } from './listen/listen-points.js';
import type { NetworkState, SetupErrors } from './network/network-setup.js';
import type { NodeCacheServer } from './server.js';

interface MetricSources {
  readonly server: NodeCacheServer;
  readonly telemetry: Telemetry;
  readonly facts: ProgramFacts;
  readonly source: Pick<CorefileSource, 'errors'>;
  readonly network: { readonly state: NetworkState; readonly errors: SetupErrors };
}

const { counter, gauge, histogram, info } = metricPrefix('coredns');
const OWN = metricPrefix('nodecache');

/** The metrics of the original's node-cache and its plugins under their names and labels, then our own. */
export function metricFamilies(sources: MetricSources): MetricFamily[] {
  const { server, telemetry, facts, source, network } = sources;
  return [
    counter(
      'nodecache_setup_errors_total',
      'Failures of the set-up of interface, rules and configuration, by what failed.',
      byKey('errortype', () => ({ ...network.errors, configmap: source.errors.configmap })),
    ),
    ...dnsFamilies(() => server.points.all),
    ...cacheFamilies(() => server.points.all),
    ...forwardFamilies(server),
    ...pluginFamilies(server),
    ...tcpFamilies(OWN, () => server.points.all.map(({ listener }) => listener)),
    ...(server.snapshot?.families(OWN) ?? []),
    ...overloadFamilies(OWN, () => server.points.all.map(({ listener }) => listener)),
    ...telemetryFamilies(OWN, () => telemetry),
    counter('reload_failed_total', 'Corefiles that were refused.', () => source.errors.refused),
    counter(
      'panics_total',
      'Uncaught errors; each is logged, and none ends the process.',
      facts.unexpectedErrors,
    ),
    info('build_info', 'The version of the program.', ['version', 'revision', 'goversion'], () => ({
      version: facts.version,
      revision: '',
      goversion: '',
    })),
    OWN.gauge(
      'rules_active',
      'Whether the rules of the node lead to this process.',
      byKey('tool', () => {
        const { tool = 'none', hasRules } = network.state;
        return { [tool]: Number(hasRules) };
      }),
    ),
  ];
}

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
  const zoneLabels = ['server', 'zone', 'view'];
  const bySize = (read: (counters: ZoneCounters) => ZoneCounters['requestBytes']) =>
    labelled([...zoneLabels, 'proto'], () =>
      each().flatMap(({ labels, counters }) =>
        WAYS.map(({ proto }): LabelledHistogram => ({
          labels: { ...labels, proto },
          histogram: read(counters)[proto],
        })),
      ),
    );
  return [
    counter(
      'dns_requests_total',
      'Queries, by address, zone, protocol, family (1 is IPv4) and type.',
      labelled([...zoneLabels, 'proto', 'family', 'type'], () =>
        each().flatMap((counted) => [...requests(counted)]),
      ),
    ),
    counter(
      'dns_do_requests_total',
      'Queries with the bit DO, by address and zone.',
      labelled(zoneLabels, () =>
        each().map(({ labels, counters }) => ({ labels, value: counters.dnssecRequests })),
      ),
    ),
    counter(
      'dns_responses_total',
      'Answers, by address, zone, rcode and plugin.',
      labelled([...zoneLabels, 'rcode', 'plugin'], () =>
        each().flatMap((counted) => [...responses(counted)]),
      ),
    ),
    histogram(
      'dns_request_duration_seconds',
      'Time from a query to its answer.',
      labelled(zoneLabels, () =>
        each().map(({ labels, counters }) => ({ labels, histogram: counters.seconds })),
      ),
    ),
    histogram(
      'dns_request_size_bytes',
      'Size of queries.',
      bySize(({ requestBytes }) => requestBytes),
    ),
    histogram(
      'dns_response_size_bytes',
      'Size of answers.',
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
        .filter(({ block }) => block.block.cache !== undefined)
        .flatMap((zone) => read(zone, { server, zones: zoneLabel(zone.zone), view: '' })),
    );
  const one = (read: (zone: ServedZone) => number) =>
    labelled(
      LABELS,
      each((zone, labels) => [{ labels, value: read(zone) }]),
    );
  const byType = (read: (zone: ServedZone) => Readonly<Record<'success' | 'denial', number>>) =>
    labelled(
      [...LABELS, 'type'],
      each((zone, labels) =>
        Object.entries(read(zone)).map(([type, value]) => ({ labels: { ...labels, type }, value })),
      ),
    );
  const hits = ({ counters }: ServedZone) => counters.cacheHits.success + counters.cacheHits.denial;
  return [
    gauge(
      'cache_entries',
      'Answers in the cache, with records and without.',
      byType(({ block }) => {
        const { entries, negative } = block.resolver.describe().cache;
        return { success: entries - negative, denial: negative };
      }),
    ),
    counter(
      'cache_requests_total',
      'Queries that the cache was asked for.',
      one((zone) => hits(zone) + zone.counters.cacheMisses),
    ),
    counter(
      'cache_hits_total',
      'Answers from the cache, with records and without.',
      byType(({ counters }) => counters.cacheHits),
    ),
    counter(
      'cache_misses_total',
      'Queries that the cache had no answer to.',
      one(({ counters }) => counters.cacheMisses),
    ),
    counter(
      'cache_evictions_total',
      'Answers removed for lack of space before they expired.',
      one(({ block }) => block.resolver.describe().cache.evictions),
    ),
    counter(
      'cache_served_stale_total',
      'Expired answers that clients got.',
      one(({ block }) => block.resolver.describe().answers.staleAnswers),
    ),
    counter(
      'cache_prefetch_total',
      'Answers that were asked for before they expired.',
      one(({ block }) => {
        const { fresh, failed, dropped } = block.resolver.describe().forwarder.prefetches;
        return fresh + failed + dropped;
      }),
    ),
    OWN.gauge(
      'cache_bytes',
      'Memory of the cache.',
      one(({ block }) => block.resolver.describe().cache.takenBytes),
    ),
  ];
}

const PROXY = { proxy_name: 'forward' };
const PROXY_LABELS = ['proxy_name', 'to'];

/** The metrics of coredns plugin/forward and plugin/pkg/proxy. */
function forwardFamilies({ blocks, upstreams, subscriptions }: NodeCacheServer): MetricFamily[] {
  const sum = (read: (block: (typeof blocks.all)[number]) => number) => () =>
    blocks.all.reduce((total, block) => total + read(block), 0);
  const connections = (isReused: boolean) =>
    labelled([...PROXY_LABELS, 'proto'], () =>
      [...upstreams.all()].map(({ text, encrypted }) => {
        const { queries } = upstreams.statistics.of(text);
        const opened = encrypted?.handshakes ?? 0;
        const proto = encrypted === undefined ? 'udp' : 'tcp';
        // Over UDP sockets are shared, and renewed for their ports alone.
        const reused = Math.max(queries - opened, 0);
        return { labels: { ...PROXY, to: target(text), proto }, value: isReused ? reused : opened };
      }),
    );
  return [
    counter(
      'forward_max_concurrent_rejects_total',
      'Queries that were refused because too many were in flight.',
      sum(({ resolver }) => resolver.describe().forwarder.counters.overflows),
    ),
    counter(
      'forward_healthcheck_broken_total',
      'Questions that no server answered.',
      sum(({ resolver }) => resolver.describe().forwarder.counters.failures),
    ),
    histogram(
      'proxy_request_duration_seconds',
      'Time from a question to the reply of its server.',
      labelled([...PROXY_LABELS, 'rcode'], () => [...repliesByTarget(upstreams)]),
    ),
    counter(
      'proxy_healthcheck_failures_total',
      'Questions and probes that a server did not reply to.',
      labelled(PROXY_LABELS, () =>
        [...upstreams.statistics.entries()].map(([text, { health }]) => ({
          labels: { ...PROXY, to: target(text) },
          value: health.failures.timeout + health.failures.unreachable,
        })),
      ),
    ),
    counter(
      'proxy_conn_cache_hits_total',
      'Questions over a connection that was open.',
      connections(true),
    ),
    counter('proxy_conn_cache_misses_total', 'Connections that were opened.', connections(false)),
    OWN.counter(
      'upstream_guessed_ports_total',
      'Ports at which a reply had an ID that no question there has, or had: what waited there is asked over TCP.',
      () => upstreams.guessedPorts,
    ),
    ...subscriptionFamilies(OWN, () => subscriptions.rows()),
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
      'health_request_duration_seconds',
      'Time until this process answers its own probe, over DNS.',
      () => probe.seconds,
    ),
    counter(
      'health_request_failures_total',
      'Probes that this process did not answer in time.',
      () => probe.failures,
    ),
    gauge(
      'plugin_enabled',
      'The plugins of each zone.',
      labelled(['server', 'zone', 'view', 'name'], () =>
        points.all.flatMap(({ label: server, zones }) =>
          zones.flatMap(({ zone, block }) =>
            pluginsOf(block.block).map((name) => ({
              labels: { server, zone: zoneLabel(zone), view: '', name },
              value: 1,
            })),
          ),
        ),
      ),
    ),
    gauge('hosts_entries', 'Names and addresses of hosts files.', () =>
      hosts().reduce((sum, { size }) => sum + size, 0),
    ),
    gauge('hosts_reload_timestamp_seconds', 'When a hosts file was read last.', () =>
      Math.max(0, ...hosts().map(({ readAtSeconds }) => readAtSeconds)),
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
