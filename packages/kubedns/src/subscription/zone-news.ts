import {
  changedTlv,
  DSO_TYPE,
  type DsoTlv,
  encodeKey,
  reverseName,
  serialTlv,
} from '@kube-dns/wire';
import type { PackedAddresses } from '../cluster/packed-addresses.js';
import type { ZoneChanges } from './announced-records.js';

/** More names than this in a window are told as a FLUSH at its end. */
const MAX_NAMES = 256;
const WINDOW_MS = 20;

/** Why subscribers were told that everything may have changed. */
export type FlushReason = 'many-changes' | 'configuration';

/**
 * Tells the names that changed, once per turn of the event loop: a CHANGED with the serials before and after. Many
 * changes become one FLUSH, so that a large relist costs subscribers no more than their cached answers.
 */
export class ZoneNews implements ZoneChanges {
  /** Whether there is a subscriber. */
  isWatched = false;
  /** Names in CHANGED; FLUSH by reason. */
  names = 0;
  readonly flushes: Record<FlushReason, number> = { 'many-changes': 0, configuration: 0 };
  #serial = 0;
  readonly #tell: (tlv: DsoTlv) => void;
  /** By their bytes as text. */
  readonly #changed = new Map<string, Uint8Array>();
  #immediate: NodeJS.Immediate | undefined;
  #window: NodeJS.Timeout | undefined;
  #namesInWindow = 0;
  #isFlushDue = false;

  /** `tell` sends a CHANGED or a FLUSH to all subscribers. */
  constructor(tell: (tlv: DsoTlv) => void) {
    this.#tell = tell;
  }

  /** The number of CHANGED and FLUSH that were told. */
  get serial(): number {
    return this.#serial;
  }

  add(name: Uint8Array): void {
    if (!this.isWatched || this.#isFlushDue) return;
    this.#changed.set(Buffer.from(name).toString('latin1'), name);
    if (this.#namesInWindow + this.#changed.size > MAX_NAMES) this.#flushLater();
    else this.#immediate ??= setImmediate(() => this.#tellNames());
  }

  addAddress({ size, bytes }: PackedAddresses, at: number): void {
    if (!this.isWatched || this.#isFlushDue) return;
    const address = Buffer.from(bytes.slice(at, at + size), 'latin1');
    this.add(encodeKey(reverseName(address)));
  }

  /** Tells that everything may have changed. */
  flush(reason: FlushReason): void {
    this.#changed.clear();
    if (!this.isWatched) return;
    this.flushes[reason]++;
    this.#serial++;
    this.#tell(serialTlv(DSO_TYPE.FLUSH, this.#serial));
  }

  close(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#window);
    this.isWatched = false;
  }

  #tellNames(): void {
    this.#immediate = undefined;
    if (this.#changed.size === 0) return;
    const names = Array.from(this.#changed.values());
    this.#changed.clear();
    this.names += names.length;
    this.#namesInWindow += names.length;
    this.#startWindow();
    const before = this.#serial++;
    this.#tell(changedTlv({ before, after: this.#serial, names }));
  }

  #flushLater(): void {
    this.#isFlushDue = true;
    this.#changed.clear();
    this.#startWindow();
  }

  #startWindow(): void {
    this.#window ??= setTimeout(() => this.#endWindow(), WINDOW_MS);
  }

  #endWindow(): void {
    this.#window = undefined;
    this.#namesInWindow = 0;
    if (!this.#isFlushDue) return;
    this.#isFlushDue = false;
    this.flush('many-changes');
  }
}
