import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, freePort, ScriptedNameServer, until } from '@kube-dns/testkit';
import { HEADLESS, serviceObject, sliceObject } from './support/objects.js';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';

const KUBERNETES = 'kubernetes.default.svc.cluster.local';

/** The contract, from kubernetes/dns third_party/forked/skydns/metrics/metrics.go. */
const SKYDNS: readonly [name: string, type: string, help: string][] = [
  ['dns_cachemiss_count_total', 'counter', 'Counter of DNS requests that result in a cache miss.'],
  ['dns_error_count_total', 'counter', 'Counter of DNS requests resulting in an error.'],
  ['dns_request_count_total', 'counter', 'Counter of DNS requests made.'],
  [
    'dns_request_duration_seconds',
    'histogram',
    'Histogram of the time (in seconds) each request took to resolve.',
  ],
  ['dns_response_size_bytes', 'histogram', 'Size of the returns response in bytes.'],
];
const DURATIONS = '0.001 0.003 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf';
const SIZES =
  '0 512 1024 1500 2048 4096 8192 12288 16384 20480 24576 28672 32768 36864 40960 45056 49152 53248 ' +
  '57344 61440 65536 +Inf';
const OWN = [
  'kubedns_answer_failures_total counter',
  'kubedns_answers_by_source_total counter',
  'kubedns_answers_total counter',
  'kubedns_build_info gauge',
  'kubedns_config_applied_timestamp_seconds gauge',
  'kubedns_config_generation gauge',
  'kubedns_config_info gauge',
  'kubedns_config_rejected_total counter',
  'kubedns_config_unknown_keys gauge',
  'kubedns_cookies_total counter',
  'kubedns_dnstap_messages_total counter',
  'kubedns_event_to_served_seconds histogram',
  'kubedns_last_event_age_seconds gauge',
  'kubedns_limited_clients gauge',
  'kubedns_lost_queries_total counter',
  'kubedns_messages_total counter',
  'kubedns_notify_results_total counter',
  'kubedns_notify_sent_total counter',
  'kubedns_objects gauge',
  'kubedns_outside_name_conflicts gauge',
  'kubedns_outside_names gauge',
  'kubedns_outside_names_left_out gauge',
  'kubedns_overloads_total counter',
  'kubedns_query_log_dropped_lines_total counter',
  'kubedns_query_log_lines_total counter',
  'kubedns_ready gauge',
  'kubedns_records gauge',
  'kubedns_refused_messages_total counter',
  'kubedns_rejected_objects_total counter',
  'kubedns_relists_total counter',
  'kubedns_send_errors_total counter',
  'kubedns_slow_answers_total counter',
  'kubedns_snapshot_age_seconds gauge',
  'kubedns_snapshot_bytes gauge',
  'kubedns_snapshot_last_write_timestamp_seconds gauge',
  'kubedns_snapshot_serving gauge',
  'kubedns_snapshot_writes_total counter',
  'kubedns_stub_domain_servers gauge',
  'kubedns_subscribers gauge',
  'kubedns_subscribers_behind gauge',
  'kubedns_subscribers_dropped_total counter',
  'kubedns_subscribers_limit gauge',
  'kubedns_subscribers_refused_total counter',
  'kubedns_subscription_flushes_total counter',
  'kubedns_subscription_lag_seconds histogram',
  'kubedns_subscription_names_total counter',
  'kubedns_tcp_connections_open gauge',
  'kubedns_tcp_connections_total counter',
  'kubedns_transfers_running gauge',
  'kubedns_transfers_total counter',
  'kubedns_truncated_answers_total counter',
  'kubedns_udp_engine_info gauge',
  'kubedns_unexpected_errors_total counter',
  'kubedns_upstream_cookie_rejects_total counter',
  'kubedns_upstream_failures_total counter',
  'kubedns_upstream_guessed_ports_total counter',
  'kubedns_upstream_in_flight gauge',
  'kubedns_upstream_overflows_total counter',
  'kubedns_upstream_queries_total counter',
  'kubedns_upstream_server_certificate_end_timestamp_seconds gauge',
  'kubedns_upstream_server_connections gauge',
  'kubedns_upstream_server_failures_total counter',
  'kubedns_upstream_server_handshakes_total counter',
  'kubedns_upstream_server_latency_seconds histogram',
  'kubedns_upstream_server_queries_total counter',
  'kubedns_watch_objects_passed_over_total counter',
  'kubedns_watch_optional_state gauge',
  'kubedns_watch_over_limit gauge',
  'kubedns_watch_restarts_total counter',
  'kubedns_wildcard_queries_total counter',
];

let api: ApiServer;
let upstream: ScriptedNameServer;
let port: number;
beforeAll(async () => {
  api = await createApiServer();
  upstream = await ScriptedNameServer.start();
});
beforeEach(async () => {
  port = await freePort();
});
afterEach(() => endPrograms());
afterAll(async () => {
  await upstream.close();
  await api.close();
});

const start = (env: Record<string, string> = {}): Promise<KubednsProcess> =>
  startKubedns(api, upstream, [], { PROMETHEUS_PORT: String(port), ...env }).ready();

async function scrape(path = '/metrics'): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  expect(response.status).toBe(200);
  return response.text();
}

let firstPage: Promise<string> | undefined;
/** The page of a program that was asked nothing. */
const pristinePage = () => (firstPage ??= start().then(() => scrape()));

/** `name type` of every family that begins so, in their order. */
const families = (text: string, prefix: string) =>
  [...text.matchAll(/^# TYPE (\S+ \S+)$/gm)]
    .map((match) => match[1]!)
    .filter((family) => family.startsWith(prefix));

const bucketsOf = (text: string, metric: string, system: string) =>
  [...text.matchAll(new RegExp(`^${metric}_bucket\\{system="${system}",le="(.+)"\\} `, 'gm'))]
    .map((match) => match[1])
    .join(' ');

describe('the metrics of skydns', () => {
  it('have the original’s names, types, texts and buckets', async () => {
    const text = await pristinePage();
    for (const [name, type, help] of SKYDNS) {
      const full = `skydns_skydns_${name}`;
      expect(text).toContain(`# HELP ${full} ${help}\n# TYPE ${full} ${type}\n`);
    }
    expect(families(text, 'skydns_')).toHaveLength(SKYDNS.length);
    for (const system of ['auth', 'recursive', 'reverse']) {
      const durations = bucketsOf(text, 'skydns_skydns_dns_request_duration_seconds', system);
      expect(durations).toBe(DURATIONS);
      expect(bucketsOf(text, 'skydns_skydns_dns_response_size_bytes', system)).toBe(SIZES);
    }
  });

  it('count each question to the zone once, with its size, its error and its miss', async () => {
    const kubedns = await start();
    await kubedns.ask(KUBERNETES, 'A');
    await kubedns.ask(`no.${KUBERNETES}`, 'A');
    const text = await scrape();
    const value = (name: string) => {
      const at = text.indexOf(`\nskydns_skydns_dns_${name} `);
      return at < 0 ? undefined : Number(/ (\S+)$/m.exec(text.slice(at + 1))?.[1]);
    };
    expect(value('request_count_total{system="auth"}')).toBe(2);
    expect(value('request_count_total{system="recursive"}')).toBe(0);
    expect(value('request_duration_seconds_count{system="auth"}')).toBe(2);
    expect(value('response_size_bytes_bucket{system="auth",le="512"}')).toBe(2);
    expect(value('error_count_total{cause="nxdomain",system="auth"}')).toBe(1);
    expect(value('error_count_total{cause="servfail",system="auth"}')).toBe(0);
    expect(value('cachemiss_count_total{cache="response"}')).toBe(2);
  });

  it('have the names and the path of the environment', async () => {
    await start({
      PROMETHEUS_PATH: '/m',
      PROMETHEUS_NAMESPACE: 'kube',
      PROMETHEUS_SUBSYSTEM: 'dns',
    });
    const text = await scrape('/m');
    expect(families(text, 'skydns_')).toEqual([]);
    expect(families(text, 'kube_dns_')).toHaveLength(SKYDNS.length);
  });
});

describe('the metrics of the program', () => {
  it('have these names and types, and a text each', async () => {
    const text = await pristinePage();
    expect(families(text, 'kubedns_')).toEqual(OWN);
    expect(text.match(/^# HELP kubedns_\S+ .+\.$/gm)).toHaveLength(OWN.length);
  });

  it('cover readiness, version, configuration, upstreams and messages', async () => {
    const kubedns = await start();
    await kubedns.ask('example.com', 'A');
    await kubedns.ask(KUBERNETES, 'A', { isOverTcp: true });
    const text = await scrape();
    for (const line of [
      /^kubedns_ready 1$/m,
      /^kubedns_build_info\{version="\d+\.\d+\.\d+"\} 1$/m,
      /^kubedns_config_info\{source="flags",version=""\} 1$/m,
      /^kubedns_config_applied_timestamp_seconds 1\d{9}(?:\.\d+)?$/m,
      /^kubedns_config_rejected_total 0$/m,
      /^kubedns_upstream_queries_total 1$/m,
      /^kubedns_upstream_in_flight 0$/m,
      // A reply that is late is asked for again.
      /^kubedns_upstream_server_queries_total\{server="127\.0\.0\.1#\d+"\} [1-9]\d*$/m,
      /^kubedns_upstream_server_latency_seconds_count\{server="127\.0\.0\.1#\d+"\} [1-9]\d*$/m,
      /^kubedns_config_generation 1$/m,
      /^kubedns_answers_total\{rcode="NOERROR"\} [12]$/m,
      /^kubedns_udp_engine_info\{engine="\w+"\} 1$/m,
      /^kubedns_messages_total\{protocol="udp"\} 1$/m,
      /^kubedns_messages_total\{protocol="tcp"\} 1$/m,
      /^kubedns_tcp_connections_total\{event="accepted"\} 1$/m,
      /^kubedns_event_to_served_seconds_bucket\{le="0\.05"\} \d+$/m,
    ]) {
      expect(text).toMatch(line);
    }
  });

  it('include those of the process', async () => {
    const text = await pristinePage();
    for (const name of ['cpu_seconds_total', 'resident_memory_bytes', 'start_time_seconds']) {
      expect(text).toMatch(new RegExp(`^process_${name} \\d`, 'm'));
    }
  });
});

describe('--coredns-metrics', () => {
  it('serves the figures under CoreDNS’s names, too, and nothing of it does without', async () => {
    const flags = ['--coredns-metrics'];
    const kubedns = await startKubedns(api, upstream, flags, {
      PROMETHEUS_PORT: String(port),
    }).ready();
    await kubedns.ask('nothing.default.svc.cluster.local', 'A');
    const text = await scrape();
    const names = families(text, 'coredns_').map((family) => family.split(' ')[0]);
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const table = [...readme.matchAll(/^\| `(coredns_\w+)`/gm)].map((match) => match[1]);
    expect(names).toEqual(table.sort());
    expect(text).toMatch(
      /^coredns_dns_requests_total\{server="dns:..:\d+",view="",proto="udp"\} 1$/m,
    );
    expect(text).toMatch(/^coredns_dns_responses_total\{server=.*,rcode="NXDOMAIN"\} 1$/m);
    const timed =
      /^coredns_dns_request_duration_seconds_count\{server=.*,zone="cluster.local."\} 1$/m;
    expect(text).toMatch(timed);
    const annotations = {
      'endpoints.kubernetes.io/last-change-trigger-time': new Date(
        Date.now() - 3_000,
      ).toISOString(),
    };
    await api.apply([
      serviceObject({ ...HEADLESS }),
      sliceObject({ endpoints: ['10.1.0.1'], annotations }),
    ]);
    const programmed = 'coredns_kubernetes_dns_programming_duration_seconds';
    const headless = 'service_kind="headless_with_selector"';
    await until('the time of the endpoints', async () =>
      (await scrape()).includes(`${programmed}_count{${headless}} 1`),
    );
    const times = await scrape();
    expect(times).toContain(`${programmed}_bucket{${headless},le="2.048"} 0\n`);
    expect(times).toContain(`${programmed}_bucket{${headless},le="524.288"} 1\n`);
    expect(times).toContain(`${programmed}_count{service_kind="cluster_ip"} 0\n`);
    await endPrograms();
    await start();
    expect(families(await scrape(), 'coredns_')).toEqual([]);
  });
});
