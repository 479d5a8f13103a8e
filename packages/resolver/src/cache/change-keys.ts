import { suffixOffset } from '@kube-dns/wire';

/** An answer that any change of the zone may change. */
export const EVERY_CHANGE = -1;

/** `service.namespace.svc` below the apex. */
const SERVICE_LABELS = 3;
const ASTERISK = 0x2a;

/**
 * Where in a name (lower-cased, in wire form) the part begins whose changes change its answer: the service three
 * labels below the zone's apex; else, as of a reverse name, the whole name. EVERY_CHANGE for the apex, whose SOA has
 * the serial, and for a wildcard.
 */
export function keyOffset(name: Uint8Array, length: number, apex: Uint8Array): number {
  const end = suffixOffset(name, length, apex);
  if (end === 0 || hasAsterisk(name, end < 0 ? length : end)) return EVERY_CHANGE;
  if (end < 0) return 0;
  let at = 0;
  for (let labels = labelsBefore(name, end); labels > SERVICE_LABELS; labels--) at += 1 + name[at]!;
  return at;
}

/** Whether a name in wire form has a label `*` before an offset: the records of all that match are its answer. */
export function hasAsterisk(name: Uint8Array, end = name.length): boolean {
  for (let at = 0; at < end && name[at]! > 0; at += 1 + name[at]!) {
    if (name[at] === 1 && name[at + 1] === ASTERISK) return true;
  }
  return false;
}

/** Whether everything below a name must be looked for when it changes: it is above services. */
export function isAboveServices(name: Uint8Array, apex: Uint8Array): boolean {
  const end = suffixOffset(name, name.length, apex);
  return end >= 0 && labelsBefore(name, end) < SERVICE_LABELS;
}

function labelsBefore(name: Uint8Array, end: number): number {
  let labels = 0;
  for (let at = 0; at < end; at += 1 + name[at]!) labels++;
  return labels;
}
