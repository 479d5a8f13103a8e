import type { FamiliesOptions, ServedFamilies } from './open-families.js';

/**
 * Serves these metrics and those of the process; never rejects. What it takes for that, express and
 * prom-client, is loaded by this call: a program that serves metrics on demand only does not pay before.
 */
export async function serveFamilies(options: FamiliesOptions): Promise<ServedFamilies> {
  const { openFamilies } = await import('./open-families.js');
  return openFamilies(options);
}
