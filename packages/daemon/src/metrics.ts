import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import type { RequestHandler } from 'express';
import { Registry } from 'prom-client';

import { observeProcess } from './process-metrics.js';

export type { Registry } from 'prom-client';

/** An empty registry, with the `process_*` metrics of this process unless `runtime` is false. */
export function createRegistry(options: { readonly runtime?: boolean } = {}): Registry {
  const registry = new Registry();
  if (options.runtime !== false) observeProcess(registry);
  return registry;
}

const compress = promisify(gzip);

/** Answers with the registry in text format 0.0.4, families sorted by name, packed for who takes gzip. */
export function metricsHandler(registry: Registry): RequestHandler {
  return async (request, response) => {
    const text = await renderMetrics(registry);
    response.set('Content-Type', registry.contentType);
    if (request.acceptsEncodings('gzip') === false) response.send(text);
    else response.set('Content-Encoding', 'gzip').send(await compress(text));
  };
}

/** The registry in text format 0.0.4, families sorted by name. */
export async function renderMetrics(registry: Registry): Promise<string> {
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  const families = await Promise.all(
    names.sort().map((name) => registry.getSingleMetricAsString(name)),
  );
  return families.map((family) => `${family}\n`).join('');
}
