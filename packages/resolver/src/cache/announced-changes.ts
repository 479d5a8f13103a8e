import { suffixOffset } from '@kube-dns/wire';

/** The most subscriptions that entries can have. */
export const MAX_SUBSCRIPTIONS = 127;
/** Added to the number of a subscription for entries that go with a change, and with their TTL, too. */
export const WITH_TTL = 128;
/** An answer that any change of the zone may change. */
export const EVERY_CHANGE = -1;

/** `service.namespace.svc` below the apex. */
const SERVICE_LABELS = 3;
const ASTERISK = 0x2a;
/** Keys share these: a reply that is taken for old costs another question. */
const KEYS = 256;

/** Who announces when answers change. */
export interface Teller {
  /** The number of the subscription, from 1 to MAX_SUBSCRIPTIONS, or WITH_TTL more. */
  readonly number: number;
  /** The apex of the server's zone, lower-cased in wire form. */
  readonly apex: Uint8Array;
  readonly changes: ToldChanges;
}

/**
 * When the server of each subscription, by its number, was last seen, in seconds by the cache's clock: every change
 * until then is known. -Infinity while the subscription does not live; WITH_TTL and above are never set.
 */
export type HeardAt = Float64Array;

/** With no subscription that lives. */
export function neverHeard(): HeardAt {
  return new Float64Array(2 * WITH_TTL).fill(Number.NEGATIVE_INFINITY);
}

/** What a server has announced, each change by its serial: when names changed last. */
export class ToldChanges {
  readonly #ofKey = new Float64Array(KEYS);
  #ofAny = 0;
  /** Of a name above services, or of all. */
  #ofMany = 0;

  /** The name whose hash this is has changed. */
  note(key: number, serial: number): void {
    this.#ofKey[key & (KEYS - 1)] = this.#ofAny = serial;
  }

  /** Every name may have changed. Serials before are of no use: another process may begin with lower ones. */
  noteAll(serial: number): void {
    this.#ofKey.fill(0);
    this.#ofAny = 0;
    this.#ofMany = serial;
  }

  /** Whether an answer with this serial knows the last change of a key. */
  isKnown(key: number, serial: number): boolean {
    return serial >= this.#ofKey[key & (KEYS - 1)]! && serial >= this.#ofMany;
  }

  /** The same of every key. */
  areAllKnown(serial: number): boolean {
    return serial >= this.#ofAny && serial >= this.#ofMany;
  }
}

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
