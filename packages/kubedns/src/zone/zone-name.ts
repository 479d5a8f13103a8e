import { isLabel } from './endpoint-view.js';

const MAX_LABELS = 127;
const STAR = 0x2a;
const UNDERSCORE = 0x5f;

/** The labels of a name before the apex of a zone. One instance is reused for every question. */
export class ZoneName {
  /** Lower-cased, in wire form, up to `length`. */
  bytes: Uint8Array = new Uint8Array(1);
  length = 1;
  /** Where the apex begins. */
  apexAt = 0;
  /** Number of labels before the apex. */
  count = 0;
  hasWildcard = false;
  readonly #starts = new Uint8Array(MAX_LABELS);

  /** Reads a name whose apex begins at `apexAt`. */
  read(bytes: Uint8Array, length: number, apexAt: number): void {
    this.bytes = bytes;
    this.length = length;
    this.apexAt = apexAt;
    this.count = 0;
    this.hasWildcard = false;
    for (let at = 0; at < apexAt; at += bytes[at]! + 1) {
      this.#starts[this.count++] = at;
      if (bytes[at] === 1 && bytes[at + 1] === STAR) this.hasWildcard = true;
    }
  }

  /** Removes the first label. */
  dropFirst(): void {
    this.count--;
    this.#starts.copyWithin(0, 1);
  }

  /** The offset of a label's length byte; 0 is the label next to the apex. */
  startOf(fromApex: number): number {
    return this.#starts[this.count - 1 - fromApex]!;
  }

  /** Whether a label is this text, in lower case; 0 is the label next to the apex. */
  is(fromApex: number, text: string): boolean {
    return isLabel(text, this.bytes, this.startOf(fromApex));
  }

  isWildcard(fromApex: number): boolean {
    const at = this.startOf(fromApex);
    return this.bytes[at] === 1 && this.bytes[at + 1] === STAR;
  }

  /** Whether a label begins with an underscore, as those of ports and protocols do. */
  isService(fromApex: number): boolean {
    const at = this.startOf(fromApex);
    return this.bytes[at]! > 1 && this.bytes[at + 1] === UNDERSCORE;
  }

  /** The text of a label; for what is not on the way of every query. */
  text(fromApex: number): string {
    const at = this.startOf(fromApex);
    return Buffer.from(this.bytes.subarray(at + 1, at + 1 + this.bytes[at]!)).toString('latin1');
  }
}
