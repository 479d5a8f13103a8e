import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createLog, type HttpServer, metricsHandler, startHttpServer } from '@kube-dns/daemon';
import { metricFamilies } from '../src/metrics.js';
import { parseProbeSpec, Probe } from '../src/probe.js';
import { StatisticsPoll } from '../src/statistics.js';
import { FakePacing } from './fake-pacing.js';
import { type Family, parsePrometheusText } from './prometheus-text.js';
import { type Point, translate } from './prometheus-to-sd.js';
import { addressRecord, replyWith, txtRecord } from './replies.js';

const LABELS = ['kubedns', 'dnsmasq'];
const BOUNDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
/** Names, types and texts of the original, as its `/metrics` shows them. */
const ORIGINAL: readonly (readonly [name: string, type: string, help: string])[] = [
  ['kubedns_dnsmasq_errors', 'counter', 'Number of errors that have occurred getting metrics'],
  [
    'kubedns_dnsmasq_evictions',
    'counter',
    'Counter of DNS cache evictions (from start of process)',
  ],
  ['kubedns_dnsmasq_hits', 'counter', 'Number of DNS cache hits (from start of process)'],
  [
    'kubedns_dnsmasq_insertions',
    'counter',
    'Counter of DNS cache insertions (from start of process)',
  ],
  ['kubedns_dnsmasq_max_size', 'counter', 'Maximum size of the DNS cache'],
  ['kubedns_dnsmasq_misses', 'counter', 'Number of DNS cache misses (from start of process)'],
  ...LABELS.flatMap((label) => [
    [
      `kubedns_probe_${label}_errors`,
      'counter',
      `Count of errors in name resolution of ${label}`,
    ] as const,
    [
      `kubedns_probe_${label}_latency_ms`,
      'histogram',
      `Latency of the DNS probe request ${label}`,
    ] as const,
  ]),
  ['process_cpu_seconds_total', 'counter', 'Total user and system CPU time spent in seconds.'],
  ['process_max_fds', 'gauge', 'Maximum number of open file descriptors.'],
  [
    'process_network_receive_bytes_total',
    'counter',
    'Number of bytes received by the process over the network.',
  ],
  [
    'process_network_transmit_bytes_total',
    'counter',
    'Number of bytes sent by the process over the network.',
  ],
  ['process_open_fds', 'gauge', 'Number of open file descriptors.'],
  ['process_resident_memory_bytes', 'gauge', 'Resident memory size in bytes.'],
  ['process_start_time_seconds', 'gauge', 'Start time of the process since unix epoch in seconds.'],
  ['process_virtual_memory_bytes', 'gauge', 'Virtual memory size in bytes.'],
  [
    'process_virtual_memory_max_bytes',
    'gauge',
    'Maximum amount of virtual memory available in bytes.',
  ],
];
/** The argument of the fourth container on GKE. */
const WHITELIST = [
  'probe_kubedns_latency_ms',
  'probe_kubedns_errors',
  'probe_dnsmasq_latency_ms',
  'probe_dnsmasq_errors',
  'dnsmasq_misses',
  'dnsmasq_hits',
];

const PROBE_MS = 12.5;

/** A loop of the sidecar, with a clock of its own. */
interface Loop {
  readonly pacing: FakePacing;
  readonly start: () => void;
  readonly close: () => void;
}

let loops: readonly Loop[];
let poll: StatisticsPoll;
/** What dnsmasq answers with, by name; for any other name, that it does not know it. */
let statistics: Readonly<Record<string, string>>;
let http: HttpServer;

beforeEach(async () => {
  statistics = { hits: '42', misses: '17', evictions: '42', insertions: '42', cachesize: '42' };
  const log = createLog({ name: 'test', verbosity: 0, write: () => undefined });
  const askStatistic = (name: string) => {
    const value = statistics[name.replace('.bind.', '')];
    return Promise.resolve(value === undefined ? replyWith() : replyWith(txtRecord(value)));
  };
  const pollPacing = new FakePacing();
  poll = new StatisticsPoll({ intervalMs: 20, ask: askStatistic, pacing: pollPacing, log });
  const probes = LABELS.map((label) => {
    const pacing = new FakePacing();
    const ask = () => {
      pacing.timeMs += PROBE_MS;
      return Promise.resolve(label === 'kubedns' ? replyWith(addressRecord) : replyWith());
    };
    const spec = parseProbeSpec(`${label},127.0.0.1:53,example.com,1,A`);
    const probe = new Probe({ spec, ask, pacing, log });
    return { probe, pacing, start: () => probe.start(), close: () => probe.close() };
  });
  const pollLoop = { pacing: pollPacing, start: () => poll.start(), close: () => poll.close() };
  loops = [pollLoop, ...probes];
  const families = metricFamilies({
    namespace: 'kubedns',
    facts: { version: '1.2.3', unexpectedErrors: () => 0 },
    poll,
    probes: probes.map(({ probe }) => probe),
  });
  http = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    purpose: 'metrics',
    log,
    routes: (app) => app.all('/metrics', metricsHandler(families)),
  });
});
afterEach(async () => {
  for (const loop of loops) loop.close();
  await http.close();
});

async function scrape(): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${http.port}/metrics`);
  return response.text();
}

/** The exposition once both probes and the poll have a result. */
async function settled(): Promise<string> {
  for (const { start } of loops) start();
  for (const { pacing } of loops) await pacing.next();
  return scrape();
}

const valueOf = (families: ReadonlyMap<string, Family>, name: string) =>
  families.get(name)?.samples[0]?.value;

describe('the exposition', () => {
  it('has the names, types and texts of the original, and no labels on them', async () => {
    const families = parsePrometheusText(await settled());
    for (const [name, type, help] of ORIGINAL) {
      expect(families.get(name)).toMatchObject({ name, type, help });
      const labels = families.get(name)!.samples.flatMap((sample) => [...sample.labels.keys()]);
      expect(new Set(labels)).toEqual(new Set(type === 'histogram' ? ['le'] : []));
    }
  });

  it('has every metric of the original from the start', async () => {
    const text = await scrape();
    const families = parsePrometheusText(text);
    for (const [name] of ORIGINAL) expect(families.has(name)).toBe(true);
    expect(valueOf(families, 'kubedns_dnsmasq_hits')).toBe(0);
    const buckets = text.matchAll(/^kubedns_probe_kubedns_latency_ms_bucket\{le="(.+)"\} 0$/gm);
    expect([...buckets].map(([, bound]) => bound)).toEqual([...BOUNDS.map(String), '+Inf']);
  });

  it('describes the metrics that the original does not have in sentences', async () => {
    const inOriginal = new Set(ORIGINAL.map(([name]) => name));
    const added = [...parsePrometheusText(await scrape()).values()].filter(
      ({ name }) => !inOriginal.has(name),
    );
    expect(added.map(({ name }) => name)).toEqual([
      'kubedns_dnsmasq_age_seconds',
      'kubedns_dnsmasq_subscriptions_down',
      'kubedns_dnsmasq_subscriptions_live',
      'kubedns_dnsmasq_up',
      'kubedns_probe_dnsmasq_age_seconds',
      'kubedns_probe_dnsmasq_up',
      'kubedns_probe_kubedns_age_seconds',
      'kubedns_probe_kubedns_up',
      'kubedns_sidecar_build_info',
      'kubedns_sidecar_unexpected_errors_total',
      'process_heap_bytes',
    ]);
    for (const { help } of added) expect(help).toMatch(/^[A-Z1].{20,}\.$/);
  });

  it('shows which probe succeeds, and the age of each result', async () => {
    const families = parsePrometheusText(await settled());
    expect(valueOf(families, 'kubedns_probe_kubedns_up')).toBe(1);
    expect(valueOf(families, 'kubedns_probe_dnsmasq_up')).toBe(0);
    expect(valueOf(families, 'kubedns_dnsmasq_up')).toBe(1);
    for (const { pacing } of loops) pacing.timeMs += 700;
    const later = parsePrometheusText(await scrape());
    for (const name of ['probe_kubedns', 'probe_dnsmasq', 'dnsmasq']) {
      expect(valueOf(later, `kubedns_${name}_age_seconds`)).toBe(0.7);
    }
  });

  it('has no sample of subscriptions while dnsmasq does not know them, and no error', async () => {
    const families = parsePrometheusText(await settled());
    for (const state of ['live', 'down']) {
      expect(families.get(`kubedns_dnsmasq_subscriptions_${state}`)?.samples).toEqual([]);
    }
    expect(valueOf(families, 'kubedns_dnsmasq_errors')).toBe(0);
  });

  it('sets dnsmasq_up to 0 when dnsmasq no longer answers with its statistics', async () => {
    await settled();
    statistics = {};
    await loops[0]!.pacing.next();
    const families = parsePrometheusText(await scrape());
    expect(valueOf(families, 'kubedns_dnsmasq_up')).toBe(0);
    expect(valueOf(families, 'kubedns_dnsmasq_hits')).toBe(42);
  });

  it('can be read by prometheus-to-sd', async () => {
    const text = await settled();
    const points = translate(text, 'kubedns', WHITELIST);
    const number = (name: string) => (points.get(name) as Point & { value: number }).value;
    const started = valueOf(parsePrometheusText(text), 'process_start_time_seconds');
    for (const { kind, startSeconds } of points.values()) {
      expect(kind).toBe('CUMULATIVE');
      expect(startSeconds).toBe(Math.trunc(started!));
    }
    expect([number('dnsmasq_hits'), number('dnsmasq_misses')]).toEqual([42, 17]);
    expect(number('probe_kubedns_errors')).toBe(0);
    expect(number('probe_dnsmasq_errors')).toBe(1);
    const latency = points.get('probe_kubedns_latency_ms')!.value;
    if (typeof latency === 'number') throw new Error('not a distribution');
    expect(latency.bounds).toEqual(BOUNDS);
    expect(latency.counts).toHaveLength(BOUNDS.length + 1);
    expect(latency.counts.reduce((sum, value) => sum + value)).toBe(latency.count);
    expect(latency.mean).toBe(PROBE_MS);
    expect(points.get('probe_dnsmasq_latency_ms')!.value).toMatchObject({ count: 0, mean: 0 });
  });
});

describe('the reader of the text format', () => {
  it.each([
    ['a 1', 'does not end'],
    ['a 1\n', 'out of place'],
    ['# TYPE a counter\n', 'no HELP'],
    ['# HELP a x\n# TYPE a clock\n', 'not possible'],
    ['# HELP a x\n# TYPE a gauge\na 1\na 2\n', 'twice'],
    ['# HELP a x\n# TYPE a gauge\na one\n', 'no sample'],
    ['# HELP a x\n# TYPE a gauge\na{b=c} 1\n', 'bad labels'],
    ['# HELP a x\n# TYPE a gauge\nb 1\n', 'out of place'],
    [
      '# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
      'does not add up',
    ],
  ])('refuses %j', (text, reason) => {
    expect(() => parsePrometheusText(text)).toThrow(reason);
  });

  it('decodes escapes in labels', () => {
    const [family] = parsePrometheusText(
      '# HELP a x\n# TYPE a gauge\na{b="c\\"\\n\\\\"} 1\n',
    ).values();
    expect(family?.samples[0]?.labels.get('b')).toBe('c"\n\\');
  });
});
