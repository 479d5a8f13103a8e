import { MAX_NAME_BYTES, isInZone } from '@kube-dns/wire';
import { hasAsterisk } from './change-keys.js';
import {
  type CacheableAnswer,
  copyLowerCased,
  EVERY_TYPE,
  RECORD_HEAD_BYTES,
  skipRecords,
} from './cacheable-answer.js';
import type { EntryStore } from './entry-store.js';

interface DroppedDomain {
  readonly domain: Uint8Array;
  /** Entries up to this serial are dropped, later ones are not. */
  readonly lastSerial: number;
  /** Of names that changed: the zone in which they may be the reason why others exist. */
  readonly zone?: Uint8Array;
}

/** Comparisons of an entry with a domain in one turn of the event loop. */
const COMPARISONS_PER_TURN = 16_384;
/** With as many, it is the whole zone that a name that changed drops. */
const MAX_NAMES = 16;
/** So long a reply to a question that was sent before a change may come. */
const LATE_SECONDS = 10;

/** The records of the entry that is looked at, in any cache. */
const records = new Uint8Array(0x1_0000);

/**
 * The domains whose entries are being dropped: a look-up skips such an entry immediately, while the entries
 * are removed over several turns of the event loop.
 */
export class DomainDrop {
  readonly #store: EntryStore;
  /** The name of the entry that is looked at, and the target of its CNAME. */
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  readonly #target = new Uint8Array(MAX_NAME_BYTES);
  #slot = 0;
  #domains: DroppedDomain[] = [];
  #next: NodeJS.Immediate | undefined;
  /** The zones in which a name changed, and until when a reply may be older than that. */
  readonly #lateUntil = new Map<Uint8Array, number>();

  constructor(store: EntryStore) {
    this.#store = store;
  }

  /** Drops the entries at or below a domain (lower-cased, in wire form), and those that lead there. */
  add(domain: Uint8Array): void {
    this.#add({ domain, lastSerial: this.#store.lastSerial });
  }

  /**
   * Drops those that a change of a name may change: as `add`, and in its zone NXDOMAIN of the names above it, and
   * wildcards. While there is much to drop it drops the zone. `now` is in seconds.
   */
  addChanged(name: Uint8Array, zone: Uint8Array, now: number): void {
    this.#lateUntil.set(zone, now + LATE_SECONDS);
    const domain = this.#domains.length < MAX_NAMES ? name : zone;
    this.#add({ domain, lastSerial: this.#store.lastSerial, zone });
  }

  /** Whether the entry in a slot, for a name (lower-cased, in wire form), is dropped. */
  includes(slot: number, name: Uint8Array, length: number): boolean {
    for (const dropped of this.#domains) {
      if (this.#store.columns.serial[slot]! > dropped.lastSerial) continue;
      if (this.#concerns(dropped, slot, name, length) || this.#leadsTo(dropped, slot)) return true;
    }
    return false;
  }

  /**
   * Whether the reply to a question about a name outside of a zone leads into it by a CNAME, and may be older than a
   * change there. Questions about names of the zone itself are not cached then.
   */
  mayBeLate({ name, nameLength, bytes, cnames }: CacheableAnswer, now: number): boolean {
    for (const [zone, until] of this.#lateUntil) {
      if (now >= until) this.#lateUntil.delete(zone);
      else if (!isInZone(name, nameLength, zone)) {
        const leadsThere = (length: number) => isInZone(this.#target, length, zone);
        if (this.#someTarget(bytes, cnames, leadsThere)) return true;
      }
    }
    return false;
  }

  /** Ends the work; no domain is dropped any more. */
  stop(): void {
    clearImmediate(this.#next);
    this.#next = undefined;
    this.#domains = [];
  }

  #add(dropped: DroppedDomain): void {
    const { domain, zone = domain } = dropped;
    // What has been waiting is part of it.
    this.#domains = this.#domains.filter(
      (other) => !contains(domain, other.domain) || !contains(zone, other.zone ?? other.domain),
    );
    this.#slot = 0;
    this.#domains.push(dropped);
    // Later: many changes of one turn must not make a walk through the cache each.
    this.#next ??= setImmediate(() => this.#walk());
  }

  #walk(): void {
    const { capacity } = this.#store;
    const count = Math.ceil(COMPARISONS_PER_TURN / this.#domains.length);
    const end = Math.min(this.#slot + count, capacity);
    for (; this.#slot < end; this.#slot++) {
      if (!this.#store.isUsed(this.#slot)) continue;
      const length = this.#store.copyName(this.#slot, this.#name);
      if (this.includes(this.#slot, this.#name, length)) this.#store.remove(this.#slot);
    }
    this.#next = undefined;
    if (this.#slot < capacity) this.#next = setImmediate(() => this.#walk());
    else this.stop();
  }

  /** Whether the answer for a name depends on the domain. */
  #concerns(
    { domain, zone }: DroppedDomain,
    slot: number,
    name: Uint8Array,
    length: number,
  ): boolean {
    if (isInZone(name, length, domain)) return true;
    if (zone === undefined || !isInZone(name, length, zone)) return false;
    if (hasAsterisk(name)) return true;
    // RFC 8020: below it there is something.
    const isNxdomain = this.#store.columns.type[slot] === EVERY_TYPE;
    return isNxdomain && isInZone(domain, domain.length, name.subarray(0, length));
  }

  /** Whether a CNAME of the entry leads to a name that depends on the domain. */
  #leadsTo(dropped: DroppedDomain, slot: number): boolean {
    const cnames = this.#store.columns.cnames[slot]!;
    if (cnames === 0) return false;
    this.#store.copyRecords(slot, records, 0);
    const concerns = (length: number) => this.#concerns(dropped, slot, this.#target, length);
    return this.#someTarget(records, cnames, concerns);
  }

  /** Whether one of the targets of CNAMEs, each of which is in `#target` in lower case with this length, is so. */
  #someTarget(records: Uint8Array, cnames: number, is: (length: number) => boolean): boolean {
    let at = 0;
    for (let i = 0; i < cnames; i++) {
      const end = skipRecords(records, at, 1);
      const length = end - at - RECORD_HEAD_BYTES;
      copyLowerCased(records, at + RECORD_HEAD_BYTES, length, this.#target);
      if (is(length)) return true;
      at = end;
    }
    return false;
  }
}

function contains(zone: Uint8Array, name: Uint8Array): boolean {
  return isInZone(name, name.length, zone);
}
