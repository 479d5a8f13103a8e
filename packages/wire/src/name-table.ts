import { finishHash, hashBytes, randomSeed } from './byte-hash.js';

interface Entry<V> {
  readonly hash: number;
  readonly name: Uint8Array;
  value: V;
  next: Entry<V> | undefined;
}

const FIRST_BUCKETS = 64;

/**
 * A map from lower-cased names in wire form to values with keys inside a larger buffer:
 * a lookup creates no string and no view. The hash is seeded per table, against chosen collisions.
 */
export class NameTable<V> {
  readonly #seed = randomSeed();
  #buckets: (Entry<V> | undefined)[] = new Array<undefined>(FIRST_BUCKETS).fill(undefined);
  /** Changed at once: compiled code holds a field that never was for a constant, and is thrown away when a first name comes late. */
  #size = -1;

  constructor() {
    this.#size = 0;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the value for the name at `start` up to `end`; undefined when there is none. */
  get(bytes: Uint8Array, start: number, end: number): V | undefined {
    return this.#find(bytes, start, end)?.value;
  }

  /** Returns the value of the longest suffix of a name, the name itself and the root included; undefined when none has one. */
  findSuffix(name: Uint8Array, length: number): V | undefined {
    if (this.#size === 0) return undefined;
    for (let at = 0; at < length; at += name[at]! + 1) {
      const entry = this.#find(name, at, length);
      if (entry !== undefined) return entry.value;
    }
    return undefined;
  }

  /** Retains a reference to `name`; the caller must not change it afterwards. */
  set(name: Uint8Array, value: V): void {
    const found = this.#find(name, 0, name.length);
    if (found !== undefined) {
      found.value = value;
      return;
    }
    if (this.#size >= this.#buckets.length) this.#grow();
    const hash = this.#hash(name, 0, name.length);
    const bucket = hash & (this.#buckets.length - 1);
    this.#buckets[bucket] = { hash, name, value, next: this.#buckets[bucket] };
    this.#size++;
  }

  /** Removes a name; false when it was absent. */
  delete(name: Uint8Array): boolean {
    const bucket = this.#hash(name, 0, name.length) & (this.#buckets.length - 1);
    let previous: Entry<V> | undefined;
    for (let entry = this.#buckets[bucket]; entry !== undefined; entry = entry.next) {
      if (isSame(entry.name, name, 0, name.length)) {
        if (previous === undefined) this.#buckets[bucket] = entry.next;
        else previous.next = entry.next;
        this.#size--;
        return true;
      }
      previous = entry;
    }
    return false;
  }

  clear(): void {
    this.#buckets = new Array<undefined>(FIRST_BUCKETS).fill(undefined);
    this.#size = 0;
  }

  /** Every name with its value. The loop may delete from the table, but not add to it. */
  *entries(): Generator<[name: Uint8Array, value: V]> {
    for (const first of this.#buckets) {
      for (let entry = first; entry !== undefined; entry = entry.next) {
        yield [entry.name, entry.value];
      }
    }
  }

  #find(bytes: Uint8Array, start: number, end: number): Entry<V> | undefined {
    // Many tables of rules are empty, and are asked with each query.
    if (this.#size === 0) return undefined;
    const hash = this.#hash(bytes, start, end);
    let entry = this.#buckets[hash & (this.#buckets.length - 1)];
    while (entry !== undefined) {
      if (entry.hash === hash && isSame(entry.name, bytes, start, end)) return entry;
      entry = entry.next;
    }
    return undefined;
  }

  #grow(): void {
    const old = this.#buckets;
    this.#buckets = new Array<undefined>(old.length * 2).fill(undefined);
    for (const first of old) {
      for (let entry = first; entry !== undefined;) {
        const { next } = entry;
        const bucket = entry.hash & (this.#buckets.length - 1);
        entry.next = this.#buckets[bucket];
        this.#buckets[bucket] = entry;
        entry = next;
      }
    }
  }

  #hash(bytes: Uint8Array, start: number, end: number): number {
    return finishHash(hashBytes(this.#seed, bytes, start, end));
  }
}

/** Adds the names above `name` but the root, up to the first that the table has: where all come this way it has those above that, too. */
export function addNamesAbove<V>(table: NameTable<V>, name: Uint8Array, value: V): void {
  const end = name.length;
  for (let at = name[0]! + 1; at < end - 1; at += name[at]! + 1) {
    if (table.get(name, at, end) !== undefined) return;
    table.set(name.subarray(at), value);
  }
}

function isSame(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) {
    if (name[i] !== bytes[start + i]) return false;
  }
  return true;
}
