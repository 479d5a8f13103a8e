import {
  changedOf,
  hasSameIdentity,
  IDENTITY_BYTES,
  knownOf,
  VERSIONED_RESOURCES,
} from '@kube-dns/wire';

/** At one message each 3 ms, those of 6 s: an answer that is older is taken for one that knows none of them. */
const REMEMBERED = 2_048;
/** Of an answer that knows less than what is remembered, or whose version cannot be compared. */
export const NOT_KNOWN = -1;

/**
 * The last announcements, each by its serial, with the version of the cluster after it. So an answer of any replica
 * tells by its own version which of the announcements it knows.
 */
export class VersionLog {
  /** The identity of the versions; they have none, and nothing is known of any, before `begin`. */
  #identity: Uint8Array | undefined;
  readonly #serials = new Float64Array(REMEMBERED);
  readonly #changed = new Float64Array(REMEMBERED * VERSIONED_RESOURCES);
  /** Where the newest one is, and how many there are. */
  #newest = 0;
  #count = 0;

  get isComparable(): boolean {
    return this.#identity !== undefined;
  }

  /** Forgets what was announced: this is the serial, and the version if there is one. */
  begin(serial: number, version: Uint8Array | undefined): void {
    this.#identity = version?.slice(0, IDENTITY_BYTES);
    this.#count = 0;
    if (version !== undefined) this.#add(serial, version);
  }

  /** Something was announced; versions do not fall, since an answer that knows a higher one knows this one. */
  note(serial: number, version: Uint8Array | undefined): void {
    if (version === undefined || !this.isSame(version, 0)) this.begin(serial, version);
    else if (serial === this.#serials[this.#newest]) this.#raise(this.#newest, version);
    else this.#add(serial, version);
  }

  /** Whether a version of the cluster at an offset can be compared with these. */
  isSame(bytes: Uint8Array, at: number): boolean {
    return this.#identity !== undefined && hasSameIdentity(bytes, at, this.#identity);
  }

  /** The serial of the last announcement that an answer knows with this version of the cluster; else NOT_KNOWN. */
  serialOf(bytes: Uint8Array, at: number): number {
    if (!this.isSame(bytes, at)) return NOT_KNOWN;
    if (this.#isKnown(this.#newest, bytes, at)) return this.#serials[this.#newest]!;
    // The newest one that is known is so many before the newest: from low on, or high if none is.
    let low = 1;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#isKnown(this.#before(middle), bytes, at)) high = middle;
      else low = middle + 1;
    }
    return low < this.#count ? this.#serials[this.#before(low)]! : NOT_KNOWN;
  }

  #isKnown(index: number, bytes: Uint8Array, at: number): boolean {
    for (let i = 0; i < VERSIONED_RESOURCES; i++) {
      if (knownOf(bytes, at, i) < this.#changed[index * VERSIONED_RESOURCES + i]!) return false;
    }
    return true;
  }

  /** The index of the one so many before the newest. */
  #before(count: number): number {
    return (this.#newest - count + REMEMBERED) % REMEMBERED;
  }

  #add(serial: number, version: Uint8Array): void {
    const last = this.#newest * VERSIONED_RESOURCES;
    const isFirst = this.#count === 0;
    this.#newest = (this.#newest + 1) % REMEMBERED;
    this.#count = Math.min(this.#count + 1, REMEMBERED);
    this.#serials[this.#newest] = serial;
    for (let i = 0; i < VERSIONED_RESOURCES; i++) {
      const before = isFirst ? 0 : this.#changed[last + i]!;
      this.#changed[this.#newest * VERSIONED_RESOURCES + i] = before;
    }
    this.#raise(this.#newest, version);
  }

  #raise(index: number, version: Uint8Array): void {
    for (let i = 0; i < VERSIONED_RESOURCES; i++) {
      const at = index * VERSIONED_RESOURCES + i;
      this.#changed[at] = Math.max(this.#changed[at]!, changedOf(version, 0, i));
    }
  }
}
