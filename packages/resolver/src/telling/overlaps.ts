import { suffixOffset } from '@kube-dns/wire';

/** Whether one of two zones (lower-cased, in wire form) is the other, or in it. */
export function overlaps(one: Uint8Array, other: Uint8Array): boolean {
  return suffixOffset(one, one.length, other) >= 0 || suffixOffset(other, other.length, one) >= 0;
}
