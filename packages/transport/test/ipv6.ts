import { networkInterfaces } from 'node:os';
import { it } from '@jest/globals';

/** Whether this machine has the address ::1. */
export const HAS_IPV6 = Object.values(networkInterfaces())
  .flat()
  .some((network) => network?.address === '::1');

/** A test that needs the address ::1, and is skipped on a machine without. */
export function itOverIPv6(name: string, test: () => Promise<void>): void {
  (HAS_IPV6 ? it : it.skip)(name, test);
}
