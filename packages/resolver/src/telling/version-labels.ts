import { suffixOffset } from '@kube-dns/wire';

/** Labels of in-addr.arpa and ip6.arpa. */
const REVERSE_ZONE_LABELS = 2;

/** Labels of the zone that a name (lower-cased, in wire form) is in: one with this apex, or of reverse names (RFC 9660). */
export function versionLabels(name: Uint8Array, length: number, apex: Uint8Array): number {
  if (suffixOffset(name, length, apex) < 0) return REVERSE_ZONE_LABELS;
  let count = 0;
  for (let at = 0; apex[at]! > 0; at += 1 + apex[at]!) count++;
  return count;
}
