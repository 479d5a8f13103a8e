import { suffixOffset } from '@kube-dns/wire';

interface DroppedDomain {
  readonly domain: Uint8Array;
  /** Entries up to this serial are dropped, later ones are not. */
  readonly lastSerial: number;
}

/** Comparisons of an entry with a domain in one turn of the event loop. */
const COMPARISONS_PER_TURN = 16_384;

/**
 * The domains whose entries are being dropped: a look-up skips such an entry immediately, while the entries
 * are removed over several turns of the event loop.
 */
export class DomainDrop {
  readonly #slots: () => number;
  readonly #look: (slot: number) => void;
  #slot = 0;
  #domains: DroppedDomain[] = [];
  #next: NodeJS.Immediate | undefined;

  /** `slots` are the slots that may have entries; `look` removes the one in a slot if it is dropped. */
  constructor(slots: () => number, look: (slot: number) => void) {
    this.#slots = slots;
    this.#look = look;
  }

  /** Drops the entries up to a serial. */
  add(domain: Uint8Array, lastSerial: number): void {
    this.#slot = 0;
    this.#domains.push({ domain, lastSerial });
    if (this.#next === undefined) this.#run();
  }

  /**
   * Whether an entry is for a name (lower-cased, in wire form) at or below a dropped domain, or may be:
   * targets of CNAMEs are not looked up, all entries with a CNAME are dropped.
   */
  includes(name: Uint8Array, length: number, serial: number, hasCname: boolean): boolean {
    for (const { domain, lastSerial } of this.#domains) {
      if (serial > lastSerial) continue;
      if (hasCname || suffixOffset(name, length, domain) >= 0) return true;
    }
    return false;
  }

  /** Ends the work; no domain is dropped any more. */
  stop(): void {
    clearImmediate(this.#next);
    this.#next = undefined;
    this.#domains = [];
  }

  #run(): void {
    const count = Math.ceil(COMPARISONS_PER_TURN / this.#domains.length);
    const end = Math.min(this.#slot + count, this.#slots());
    for (; this.#slot < end; this.#slot++) this.#look(this.#slot);
    if (this.#slot < this.#slots()) this.#next = setImmediate(() => this.#run());
    else this.stop();
  }
}
