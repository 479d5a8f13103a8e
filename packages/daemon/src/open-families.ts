// Reached through serveFamilies alone, which loads it: nothing else may import this file.
import { createRegistry } from './metrics.js';
import { MetricsServer } from './metrics-server.js';
import { observeFamilies } from './observed-metrics.js';
import type { FamiliesOptions, ServedFamilies } from './serve-families.js';

/** See serveFamilies. */
export async function openFamilies(options: FamiliesOptions): Promise<ServedFamilies> {
  const { families, ...where } = options;
  const registry = createRegistry();
  observeFamilies(registry, families);
  const server = new MetricsServer({ ...where, registry });
  await server.start();
  return server;
}
