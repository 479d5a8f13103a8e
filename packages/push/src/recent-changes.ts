import { changedOf, hasSameIdentity, knownOf, VERSIONED_RESOURCES } from '@kube-dns/wire';

/** Names that are remembered: at 1,000 changes a second those of 16 s. Each takes some 200 bytes. */
const MAX_REMEMBERED = 16_384;
/** The most of them that are looked through for one subscriber. */
const MAX_REPEATED = 4_096;
/** The most bytes of names that are repeated for it: more cost it, and the server, more than answers that are asked for again. */
const MAX_REPEATED_BYTES = 48 * 1024;

interface Change {
  readonly names: readonly Uint8Array[];
  /** The version of the cluster after it. */
  readonly version: Uint8Array;
}

/** The last names that were announced, for subscribers that come back, from this server or another replica. */
export class RecentChanges {
  /** The oldest first. */
  #changes: Change[] = [];
  /** How many of them were forgotten, and are still there. */
  #forgotten = 0;
  #names = 0;
  /** What a subscriber must know at least. */
  #base: Uint8Array | undefined;

  /** Everything may have changed up to this version; undefined where versions cannot be compared. */
  begin(version: Uint8Array | undefined): void {
    this.#changes = [];
    this.#forgotten = this.#names = 0;
    this.#base = version;
  }

  /** The names have changed; the version, which is not copied, is the one after that. */
  note(names: readonly Uint8Array[], version: Uint8Array | undefined): void {
    if (version === undefined || this.#base === undefined) this.begin(version);
    else if (!hasSameIdentity(version, 0, this.#base)) this.begin(version);
    else {
      this.#changes.push({ names, version });
      this.#names += names.length;
      while (this.#names > MAX_REMEMBERED) this.#forgetOldest();
    }
  }

  /** The names that changed after what a subscriber knows, each once; undefined where that is not known, or they are too many. */
  after(known: Uint8Array): readonly Uint8Array[] | undefined {
    const base = this.#base;
    if (base === undefined || !hasSameIdentity(known, 0, base)) return undefined;
    const names = new Map<string, Uint8Array>();
    let looked = 0;
    let bytes = 0;
    for (let at = this.#changes.length - 1; at >= this.#forgotten; at--) {
      const change = this.#changes[at]!;
      if (isIncluded(change.version, known)) return Array.from(names.values());
      for (const name of change.names) {
        const text = Buffer.from(name).toString('latin1');
        if (!names.has(text)) bytes += name.length;
        names.set(text, name);
      }
      looked += change.names.length;
      if (looked > MAX_REPEATED || bytes > MAX_REPEATED_BYTES) return undefined;
    }
    return isIncluded(base, known) ? Array.from(names.values()) : undefined;
  }

  #forgetOldest(): void {
    const { names, version } = this.#changes[this.#forgotten]!;
    this.#base = version;
    this.#names -= names.length;
    this.#forgotten++;
    if (this.#forgotten * 2 < this.#changes.length) return;
    this.#changes.splice(0, this.#forgotten);
    this.#forgotten = 0;
  }
}

/** Whether who knows one version knows every change up to another one. */
function isIncluded(version: Uint8Array, known: Uint8Array): boolean {
  for (let i = 0; i < VERSIONED_RESOURCES; i++) {
    if (knownOf(known, 0, i) < changedOf(version, 0, i)) return false;
  }
  return true;
}
