import { BucketHistogram } from '@kube-dns/daemon';
import {
  changedTlv,
  DSO_TYPE,
  type DsoTlv,
  encodeKey,
  reverseName,
  serialTlv,
} from '@kube-dns/wire';
import type { PackedAddresses } from '../cluster/packed-addresses.js';
import { DURATION_BOUNDS } from '../metrics/metric-table.js';
import type { ZoneChanges } from './announced-records.js';

/** More names than this in a window are told as a FLUSH at its end. */
const MAX_NAMES = 256;
const WINDOW_MS = 20;

/** Why subscribers were told that everything may have changed; one of them, when it has read what it left unread. */
export type FlushReason = 'many-changes' | 'configuration' | 'slow-subscriber';

/**
 * Tells the names that changed, once per turn of the event loop: a CHANGED with the serials before and after. Many
 * changes become one FLUSH, so that a large relist costs subscribers no more than their cached answers.
 */
export class ZoneNews implements ZoneChanges {
  /** Whether there is a subscriber. */
  isWatched = false;
  /** Names in CHANGED; FLUSH by reason. */
  names = 0;
  readonly flushes: Record<FlushReason, number> = {
    'many-changes': 0,
    configuration: 0,
    'slow-subscriber': 0,
  };
  /** Seconds from a change of the zone until it is told. */
  readonly lag = new BucketHistogram(DURATION_BOUNDS);
  #serial = 0;
  readonly #tell: (tlv: DsoTlv) => void;
  readonly #now: () => number;
  /** By their bytes as text. */
  readonly #changed = new Map<string, Uint8Array>();
  #immediate: NodeJS.Immediate | undefined;
  #window: NodeJS.Timeout | undefined;
  #namesInWindow = 0;
  #isFlushDue = false;
  /** When the first change came that is not told yet; undefined when there is none. */
  #sinceMs: number | undefined;

  /** `tell` sends a CHANGED or a FLUSH to all subscribers; `now` is a clock in milliseconds that never falls. */
  constructor(tell: (tlv: DsoTlv) => void, now: () => number = () => performance.now()) {
    this.#tell = tell;
    this.#now = now;
  }

  /** The number of CHANGED and FLUSH that were told. */
  get serial(): number {
    return this.#serial;
  }

  /** There is a subscriber. What changed before has no serial, so the next answers have a new one. */
  watch(): void {
    if (!this.isWatched) this.#serial++;
    this.isWatched = true;
  }

  add(name: Uint8Array): void {
    if (!this.isWatched || this.#isFlushDue) return;
    this.#sinceMs ??= this.#now();
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
    if (!this.isWatched) {
      this.#sinceMs = undefined;
      return;
    }
    this.flushes[reason]++;
    this.#serial++;
    this.#tell(serialTlv(DSO_TYPE.FLUSH, this.#serial));
    this.#noteLag();
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
    this.#noteLag();
  }

  #noteLag(): void {
    if (this.#sinceMs !== undefined) this.lag.observe((this.#now() - this.#sinceMs) / 1_000);
    this.#sinceMs = undefined;
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
