/** Maximum of records of one set in an answer; more do not fit a message of 64 KiB. */
const MAX_FOUND = 4_096;

/** The records of one look-up, gathered from several tables; reused, so that gathering allocates nothing. */
export class FoundRecords {
  count = 0;
  readonly #rdata: Uint8Array[] = [];
  readonly #ttlSeconds: number[] = [];

  clear(): void {
    this.count = 0;
  }

  add(rdata: Uint8Array, ttlSeconds: number): void {
    if (this.count >= MAX_FOUND) return;
    this.#rdata[this.count] = rdata;
    this.#ttlSeconds[this.count] = ttlSeconds;
    this.count++;
  }

  /** Retains only the records whose rdata are wanted; all when none is. */
  prefer(isWanted: (rdata: Uint8Array) => boolean): void {
    let retained = 0;
    for (let i = 0; i < this.count; i++) {
      if (!isWanted(this.#rdata[i]!)) continue;
      this.#rdata[retained] = this.#rdata[i]!;
      this.#ttlSeconds[retained] = this.#ttlSeconds[i]!;
      retained++;
    }
    if (retained > 0) this.count = retained;
  }

  /** The rdata in wire form of the record at an index below `count`. */
  rdataAt(index: number): Uint8Array {
    return this.#rdata[index]!;
  }

  ttlSecondsAt(index: number): number {
    return this.#ttlSeconds[index]!;
  }
}
