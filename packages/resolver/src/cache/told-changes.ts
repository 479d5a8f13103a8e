/** Owners share these by their hash: a reply that is taken for old costs another question. */
const OWNERS = 256;

/** What a server has told of its changes, each by its serial: when names changed last. */
export class ToldChanges {
  readonly #ofOwner = new Float64Array(OWNERS);
  #ofAny = 0;
  /** Of a name above services, or of all. */
  #ofMany = 0;

  /** The name whose hash this is has changed. */
  note(owner: number, serial: number): void {
    this.#ofOwner[owner & (OWNERS - 1)] = this.#ofAny = serial;
  }

  /** Every name may have changed. Serials before are of no use: another process may begin with lower ones. */
  noteAll(serial: number): void {
    this.#ofOwner.fill(0);
    this.#ofAny = 0;
    this.#ofMany = serial;
  }

  /** Whether an answer with this serial knows the last change of an owner. */
  isKnown(owner: number, serial: number): boolean {
    return serial >= this.#ofOwner[owner & (OWNERS - 1)]! && serial >= this.#ofMany;
  }

  /** The same of every owner. */
  areAllKnown(serial: number): boolean {
    return serial >= this.#ofAny && serial >= this.#ofMany;
  }
}
