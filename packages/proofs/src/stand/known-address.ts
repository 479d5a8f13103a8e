import { createHash } from 'node:crypto';

/**
 * The one right address of a name: made of the name itself and of who is asked, so that an answer is
 * known to be right, to be somebody else's, or to belong to another name. `network` is its first byte.
 */
export function knownAddress(name: string, network: number): string {
  const hash = createHash('sha256').update(name.toLowerCase()).digest();
  return [network, hash[0], hash[1], hash[2]].join('.');
}
