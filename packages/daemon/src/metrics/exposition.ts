import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import type { RequestHandler } from 'express';
import { Counter, Gauge, type Metric, Registry } from 'prom-client';

import { sharedResult } from '../shared-result.js';
import type { LabelledHistogram, LabelledValue, MetricFamily } from './metric-family.js';
import { processFamilies } from './process-families.js';

const compress = promisify(gzip);

/**
 * Serves the families and those of the process in text format 0.0.4, sorted by name, compressed for
 * clients that accept gzip. One rendering at a time, for all requests that wait for one. Throws for an
 * invalid and for a duplicate name.
 */
export function metricsHandler(families: Iterable<MetricFamily>): RequestHandler {
  const registry = createRegistry([...processFamilies(), ...families]);
  const page = sharedResult(async () => {
    const plain = Buffer.from(await render(registry));
    return { plain, packed: await compress(plain) };
  });
  return async (request, response) => {
    const { plain, packed } = await page();
    if (request.socket.destroyed) return;
    response.set('Content-Type', registry.contentType);
    if (request.acceptsEncodings('gzip') === false) response.send(plain);
    else response.set('Content-Encoding', 'gzip').send(packed);
  };
}

/** These families in the same format, with their current values. */
export function renderFamilies(families: Iterable<MetricFamily>): Promise<string> {
  return render(createRegistry(families));
}

function createRegistry(families: Iterable<MetricFamily>): Registry {
  const registry = new Registry();
  for (const family of families) register(registry, family);
  return registry;
}

async function render(registry: Registry): Promise<string> {
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  const texts = await Promise.all(
    names.sort().map((name) => registry.getSingleMetricAsString(name)),
  );
  return texts.map((text) => `${text}\n`).join('');
}

function register(registry: Registry, family: MetricFamily): void {
  const { name, help, labelNames = [], type, collect } = family;
  if (type === 'histogram') {
    registerHistogram(registry, name, help, collect);
    return;
  }
  const description = { name, help, labelNames: [...labelNames], registers: [registry] };
  if (type === 'gauge') {
    const metric = new Gauge({
      ...description,
      collect: () => {
        clear(metric);
        for (const { labels, value } of labelled(collect())) metric.set({ ...labels }, value);
      },
    });
    return;
  }
  const metric = new Counter({
    ...description,
    collect: () => {
      clear(metric);
      for (const { labels, value } of labelled(collect())) metric.inc({ ...labels }, value);
    },
  });
}

/** Removes every sample; prom-client's `reset` leaves a 0 in a metric without labels. */
function clear(metric: Gauge | Counter): void {
  metric.reset();
  metric.remove({});
}

function labelled(values: number | Iterable<LabelledValue>): Iterable<LabelledValue> {
  return typeof values === 'number' ? [{ labels: {}, value: values }] : values;
}

function registerHistogram(
  registry: Registry,
  name: string,
  help: string,
  collect: () => Iterable<LabelledHistogram>,
): void {
  const description = { name, help, type: 'histogram', aggregator: 'sum' };
  const metric = {
    ...description,
    get: () => ({
      ...description,
      values: Array.from(collect(), (one) => histogramValues(name, one)).flat(),
    }),
    reset: () => undefined,
  };
  // The buckets of prom-client's Histogram cannot be set. A registry uses only `name`, `get` and
  // `reset` of its metrics.
  registry.registerMetric(metric as unknown as Metric);
}

function histogramValues(name: string, { labels, histogram }: LabelledHistogram) {
  const buckets = histogram.bounds.map((bound, index) => ({
    metricName: `${name}_bucket`,
    labels: { ...labels, le: String(bound) },
    value: histogram.cumulative(index),
  }));
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: histogram.count },
    { metricName: `${name}_sum`, labels, value: histogram.sum },
    { metricName: `${name}_count`, labels, value: histogram.count },
  ];
}
