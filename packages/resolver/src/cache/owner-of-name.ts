import { suffixOffset } from '@kube-dns/wire';

/** `service.namespace.svc` below the apex. */
const SERVICE_LABELS = 3;
const ASTERISK = 0x2a;
/** An answer that any change of the zone may change. */
export const EVERY_CHANGE = -1;

/**
 * Where in a name (lower-cased, in wire form) the part begins whose changes change its answer: the service three
 * labels below the zone's apex; else, as of a reverse name, the whole name. EVERY_CHANGE for the apex, whose SOA has
 * the serial, and for a wildcard.
 */
export function ownerOffset(name: Uint8Array, length: number, apex: Uint8Array): number {
  const end = suffixOffset(name, length, apex);
  let labels = 0;
  for (let at = 0; name[at]! > 0 && (end < 0 || at < end); at += 1 + name[at]!) {
    if (name[at] === 1 && name[at + 1] === ASTERISK) return EVERY_CHANGE;
    labels++;
  }
  if (end < 0) return 0;
  if (labels === 0) return EVERY_CHANGE;
  let at = 0;
  for (; labels > SERVICE_LABELS; labels--) at += 1 + name[at]!;
  return at;
}

/** Whether a name in wire form has a label `*`: the records of all that match are its answer. */
export function hasAsterisk(name: Uint8Array): boolean {
  for (let at = 0; name[at]! > 0; at += 1 + name[at]!) {
    if (name[at] === 1 && name[at + 1] === ASTERISK) return true;
  }
  return false;
}

/** Whether everything below a name must be looked for when it changes: it is above services. */
export function isAboveServices(name: Uint8Array, apex: Uint8Array): boolean {
  const end = suffixOffset(name, name.length, apex);
  if (end < 0) return false;
  let labels = 0;
  for (let at = 0; at < end; at += 1 + name[at]!) labels++;
  return labels < SERVICE_LABELS;
}
