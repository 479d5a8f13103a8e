import { describe, expect, it, jest } from '@jest/globals';
import { BucketHistogram, renderFamilies } from '@kube-dns/daemon';
import { Publisher } from '@kube-dns/push';
import { ListenerCounters } from '@kube-dns/transport';
import { RCODE } from '@kube-dns/wire';
import { ROOT_NAME } from '@kube-dns/wire';

import { Telemetry } from '@kube-dns/telemetry';
import { metricFamilies, type MetricSources } from './metric-families.js';
import { QueryStatistics } from '../answer/query-statistics.js';
import { UpstreamStatistics } from './upstream-statistics.js';

const LISTED = { isSynced: true, isDenied: false, isOptional: false, isAbsent: false };

const SOURCES: MetricSources = {
  version: '1.2.3',
  prefix: 'skydns_skydns',
  statistics: new QueryStatistics(),
  isReady: () => false,
  zoneCounts: () => ({ A: 3, SRV: 7 }),
  beside: [
    { id: 'route-names', count: () => ({ names: 5, conflicts: 2, leftOut: 0 }) },
    { id: 'other' },
  ],
  hosts: { size: 4 },
  watches: () => [
    {
      resource: 'services',
      objects: 3,
      lastEventMs: 8_500,
      relists: 2,
      restarts: { gone: 1, closed: 4 },
      rejected: 5,
      passedOver: 6,
      isOverLimit: true,
      ...LISTED,
    },
    {
      resource: 'nodes',
      objects: 0,
      lastEventMs: 0,
      relists: 0,
      restarts: {},
      rejected: 0,
      passedOver: 0,
      isOverLimit: false,
      ...LISTED,
    },
  ],
  snapshot: () => undefined,
  snapshots: { writtenMs: 1_500, bytes: 4_096, writes: { ok: 3, failed: 1 } },
  eventToServed: new BucketHistogram([0.05]),
  transfers: undefined,
  notified: [
    { text: '192.0.2.1#53', sent: 5, results: { acknowledged: 1, refused: 2, given_up: 3 } },
  ],
  subscribers: new Publisher({
    zones: { apex: ROOT_NAME, isKnown: true, rcodeFor: () => 0 },
    reasons: ['configuration'],
  }),
  configuration: {
    source: 'directory',
    version: 'abc',
    generation: 4,
    appliedMs: 1_500,
    rejected: 6,
    unknownKeys: { count: 3, warnings: [] },
  },
  forwarder: {
    counters: { forwarded: 9, failures: 8, overflows: 7 },
    inFlight: 2,
  },
  upstreams: { entries: () => new Map().entries() },
  upstreamServers: { all: [], rejectedReplies: 0, guessedPorts: 0 },
  stubServers: () => [['acme.local', 2] as const],
  dnsPort: { listeners: [] },
  telemetry: new Telemetry(),
  unexpectedErrors: () => 1,
};

/** The lines with values. */
async function scrape(sources: Partial<MetricSources> = {}): Promise<string[]> {
  const text = await renderFamilies(metricFamilies({ ...SOURCES, now: () => 10_000, ...sources }));
  return text.split('\n').filter((line) => /^[^#]/.test(line));
}

describe('the metrics of the program', () => {
  it('show the figures of each source', async () => {
    expect(await scrape()).toEqual(
      expect.arrayContaining([
        'kubedns_build_info{version="1.2.3"} 1',
        'kubedns_ready 0',
        'kubedns_records{type="A"} 3',
        'kubedns_records{type="SRV"} 7',
        'kubedns_objects{resource="services"} 3',
        'kubedns_last_event_age_seconds{resource="services"} 1.5',
        'kubedns_relists_total{resource="services"} 2',
        'kubedns_watch_restarts_total{resource="services",reason="gone"} 1',
        'kubedns_watch_restarts_total{resource="services",reason="closed"} 4',
        'kubedns_rejected_objects_total{resource="services"} 5',
        'kubedns_watch_objects_passed_over_total{resource="services"} 6',
        'kubedns_watch_over_limit{resource="services"} 1',
        'kubedns_watch_over_limit{resource="nodes"} 0',
        'kubedns_config_info{source="directory",version="abc"} 1',
        'kubedns_config_applied_timestamp_seconds 1.5',
        'kubedns_config_generation 4',
        'kubedns_config_rejected_total 6',
        'kubedns_config_unknown_keys 3',
        'kubedns_upstream_queries_total 9',
        'kubedns_upstream_failures_total 8',
        'kubedns_upstream_overflows_total 7',
        'kubedns_upstream_in_flight 2',
        'kubedns_unexpected_errors_total 1',
        'kubedns_snapshot_serving 0',
        'kubedns_snapshot_age_seconds 0',
        'kubedns_snapshot_last_write_timestamp_seconds 1.5',
        'kubedns_snapshot_bytes 4096',
        'kubedns_snapshot_writes_total{result="ok"} 3',
        'kubedns_snapshot_writes_total{result="failed"} 1',
        'kubedns_notify_sent_total{target="192.0.2.1#53"} 5',
        'kubedns_notify_results_total{target="192.0.2.1#53",result="given_up"} 3',
        'kubedns_subscribers 0',
        'kubedns_subscribers_behind 0',
        'kubedns_subscription_lag_seconds_count 0',
        'kubedns_subscription_flushes_total{reason="slow-subscriber"} 0',
      ]),
    );
  });

  it('show that answers are from a snapshot, and how old it is', async () => {
    const snapshot = () => ({ from: '/var/snapshot', writtenMs: Date.now() - 7_000 });
    const lines = await scrape({ snapshot });
    expect(lines).toContain('kubedns_snapshot_serving 1');
    expect(lines).toContain('kubedns_snapshot_age_seconds 7');
  });

  it('show the first 1,000 stub domains', async () => {
    const domains = Array.from({ length: 1_500 }, (_, i) => [`d${i}.local`, 1] as const);
    const lines = await scrape({ stubServers: () => domains });
    const shown = lines.filter((line) => line.startsWith('kubedns_stub_domain_servers{'));
    expect(shown).toHaveLength(1_000);
    expect(shown.at(-1)).toContain('d999.local');
  });

  it('show no age before the first event', async () => {
    const lines = await scrape();
    expect(lines).toContain('kubedns_objects{resource="nodes"} 0');
    expect(lines.filter((line) => line.includes('age') && line.includes('nodes'))).toEqual([]);
  });

  it('count ages on a monotonic clock', async () => {
    const [services] = SOURCES.watches();
    const watches = () => [{ ...services!, lastEventMs: 8_500 }];
    const now = jest.spyOn(performance, 'now').mockReturnValue(10_000);
    const text = await renderFamilies(metricFamilies({ ...SOURCES, watches }));
    const [, age] = /^kubedns_last_event_age_seconds\{.*\} (.*)$/m.exec(text)!;
    now.mockRestore();
    expect(age).toBe('1.5');
  });

  it('show how each name server answers', async () => {
    const upstreams = new UpstreamStatistics();
    const server = upstreams.of('10.0.0.1#53');
    server.countQuery();
    server.countReply(RCODE.SERVFAIL, 40);
    expect(await scrape({ upstreams })).toEqual(
      expect.arrayContaining([
        'kubedns_upstream_server_queries_total{server="10.0.0.1#53"} 1',
        'kubedns_upstream_server_latency_seconds_sum{server="10.0.0.1#53"} 0.04',
        'kubedns_upstream_server_failures_total{server="10.0.0.1#53",reason="servfail"} 1',
        'kubedns_upstream_server_failures_total{server="10.0.0.1#53",reason="timeout"} 0',
      ]),
    );
  });

  it('show the counters of the listener once there is one', async () => {
    const counters = new ListenerCounters();
    counters.udpQueries = 4;
    counters.formErrors = 3;
    counters.tcpIdleClosed = 2;
    counters.tcpAgeClosed = 7;
    counters.truncated = 1;
    counters.rcodes[3] = 6;
    counters.tcpOpen = 5;
    expect(
      await scrape({ dnsPort: { listeners: [{ engine: 'dgram', overloads: [], counters }] } }),
    ).toEqual(
      expect.arrayContaining([
        'kubedns_messages_total{protocol="udp"} 4',
        'kubedns_refused_messages_total{reason="formerr"} 3',
        'kubedns_tcp_connections_total{event="idle_closed"} 2',
        'kubedns_tcp_connections_total{event="age_closed"} 7',
        'kubedns_truncated_answers_total 1',
        'kubedns_answers_total{rcode="NXDOMAIN"} 6',
        'kubedns_answers_total{rcode="FORMERR"} 3',
        'kubedns_tcp_connections_open 5',
        'kubedns_udp_engine_info{engine="dgram"} 1',
      ]),
    );
  });
});
