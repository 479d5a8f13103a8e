import { networkInterfaces } from 'node:os';
import { it } from '@jest/globals';

const hasIPv6 = Object.values(networkInterfaces())
  .flat()
  .some((network) => network?.address === '::1');

/** Tests that need the address ::1; on a machine without it they are skipped, and their names say why. */
export function itOverIPv6(): Pick<typeof it, 'each'> {
  return hasIPv6 ? it : it.skip;
}
