const CACHE = 0;
const HOSTS = 1;

/**
 * How often the leader's cache lost what may still be in a copy, and how often its hosts were read, in
 * memory that all threads see: a worker whose copy is of another epoch knows at once that it must not
 * answer from it, long before it is told what to forget.
 */
export class Epochs {
  readonly memory: SharedArrayBuffer;
  readonly #counts: Int32Array;

  /** Sees the leader's, or begins its own. */
  constructor(memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#counts = new Int32Array(memory);
  }

  get cache(): number {
    return Atomics.load(this.#counts, CACHE);
  }

  get hosts(): number {
    return Atomics.load(this.#counts, HOSTS);
  }

  /** For the leader: copies of the cache are not true any more. Returns the new epoch. */
  beginCache(): number {
    Atomics.add(this.#counts, CACHE, 1);
    return this.cache;
  }

  /** For the leader: other hosts are in force. */
  beginHosts(): void {
    Atomics.add(this.#counts, HOSTS, 1);
  }
}
