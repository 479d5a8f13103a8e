import { finishHash, hashByte } from '@kube-dns/wire';

/** The hash of a question: that of its name, combined with the type. */
export function questionHash(nameHash: number, type: number): number {
  return finishHash(hashByte(nameHash, type));
}
