// Reached through serveFamilies alone, which loads it: nothing else may import more than its types.
import type { Log } from './log.js';
import type { MetricFamily } from './metric-family.js';
import { createRegistry } from './metrics.js';
import { MetricsServer } from './metrics-server.js';
import { observeFamilies } from './observed-metrics.js';

export interface FamiliesOptions {
  /** As for a MetricsServer. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly log: Log;
  readonly families: readonly MetricFamily[];
}

/** What serves metrics. */
export interface ServedFamilies {
  /** May be called twice. */
  close(): Promise<void>;
}

/** See serveFamilies. */
export async function openFamilies(options: FamiliesOptions): Promise<ServedFamilies> {
  const { families, ...where } = options;
  const registry = createRegistry();
  observeFamilies(registry, families);
  const server = new MetricsServer({ ...where, registry });
  await server.start();
  return server;
}
