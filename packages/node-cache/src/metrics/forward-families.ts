import {
  BucketHistogram,
  counter,
  gauge,
  histogram,
  type LabelledHistogram,
  type MetricFamily,
} from '@kube-dns/daemon';
import { RCODE_NAMES } from '@kube-dns/wire';
import type { NodeCacheServer } from '../server.js';

const PROXY = { proxy_name: 'forward' };
const PROXY_LABELS = ['proxy_name', 'to'];

/** The metrics of coredns plugin/forward and plugin/pkg/proxy. */
export function forwardFamilies({
  blocks,
  upstreams,
  subscriptions,
}: NodeCacheServer): MetricFamily[] {
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
