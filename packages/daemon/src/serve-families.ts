import type { Log } from './log.js';
import type { MetricFamily } from './metric-family.js';

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

/**
 * Serves these metrics and those of the process; never rejects. What it takes for that, express and
 * prom-client, is loaded by this call: a program that serves metrics on demand only does not pay before.
 */
export async function serveFamilies(options: FamiliesOptions): Promise<ServedFamilies> {
  const { openFamilies } = await import('./open-families.js');
  return openFamilies(options);
}
