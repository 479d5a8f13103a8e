import { networkInterfaces } from 'node:os';
import { it } from '@jest/globals';

const hasIPv6 = Object.values(networkInterfaces())
  .flat()
  .some((network) => network?.address === '::1');

/** A test that needs the address ::1, and is skipped on a machine without. */
export function itOverIPv6(name: string, test: () => Promise<void>): void {
  (hasIPv6 ? it : it.skip)(name, test);
}
