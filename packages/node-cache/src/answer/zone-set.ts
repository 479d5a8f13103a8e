import { encodeKey, NameTable } from '@kube-dns/wire';

const ROOT_BYTES = 1;

/** Values by zone; a name finds that of the longest zone that it is in. */
export class ZoneSet<T> {
  readonly #zones = new NameTable<T>();

  /** Zones as in a Corefile: without the last dot, the root is `.`. */
  set(zone: string, value: T): void {
    this.#zones.set(encodeKey(zone), value);
  }

  get size(): number {
    return this.#zones.size;
  }

  /** The value for a lower-cased name in wire form; undefined when it is in no zone. Allocates nothing. */
  find(name: Uint8Array, length: number): T | undefined {
    for (let at = 0; at + ROOT_BYTES < length; at += name[at]! + 1) {
      const value = this.#zones.get(name, at, length);
      if (value !== undefined) return value;
    }
    return this.#zones.get(name, length - ROOT_BYTES, length);
  }
}

/** The zones of a list, for `isIn`. */
export function zoneSet(zones: readonly string[]): ZoneSet<true> {
  const set = new ZoneSet<true>();
  for (const zone of zones) set.set(zone, true);
  return set;
}
