import { FNV_OFFSET, hashByte } from '@kube-dns/wire';
import type { AddressSize, PackedAddresses } from '../watch/projections.js';
import { SlotTable } from './slot-table.js';

/** Collects the distinct addresses of one family in the order of their addition. */
export class DistinctAddresses {
  readonly #size: AddressSize;
  readonly #bytes: Buffer;
  readonly #table: SlotTable;
  #count = 0;

  constructor(size: AddressSize, capacity: number) {
    this.#size = size;
    this.#bytes = Buffer.allocUnsafe(size * capacity);
    this.#table = new SlotTable(capacity);
  }

  /** Returns the number of the address at `at`, a new number for a new address. */
  add(bytes: string, at: number): number {
    let slot = this.#table.start(this.#hash(bytes, at));
    for (; this.#table.at(slot) >= 0; slot = this.#table.next(slot)) {
      const number = this.#table.at(slot);
      if (this.#isAt(number, bytes, at)) return number;
    }
    this.#table.put(slot, this.#count);
    const start = this.#count * this.#size;
    for (let i = 0; i < this.#size; i++) this.#bytes[start + i] = bytes.charCodeAt(at + i);
    return this.#count++;
  }

  pack(): PackedAddresses {
    return { size: this.#size, bytes: this.#bytes.toString('latin1', 0, this.#count * this.#size) };
  }

  #isAt(number: number, bytes: string, at: number): boolean {
    const start = number * this.#size;
    for (let i = 0; i < this.#size; i++) {
      if (this.#bytes[start + i] !== bytes.charCodeAt(at + i)) return false;
    }
    return true;
  }

  #hash(bytes: string, at: number): number {
    let hash = FNV_OFFSET;
    for (let i = at; i < at + this.#size; i++) hash = hashByte(hash, bytes.charCodeAt(i));
    return hash;
  }
}
