import { BucketHistogram } from '@kube-dns/daemon';
import { encodeReverseName } from '@kube-dns/wire';
import type { PackedAddresses } from '../cluster/packed-addresses.js';
import { DURATION_BOUNDS } from '../metrics/metric-table.js';
import type { ZoneChanges } from './announced-records.js';

/** More names than this in a window are told as a flush at its end. */
const MAX_NAMES = 256;
const WINDOW_MS = 20;
/** From one message with names to the next: it costs both sides more than the names in it. */
const PAUSE_MS = 3;

/** Why it was told that everything may have changed; to one subscriber, when it has read what it left unread. */
export type FlushReason = 'many-changes' | 'configuration' | 'slow-subscriber';

/** Is told what changes. */
export interface NewsListener {
  /** Names that changed, lower-cased in wire form, and the serial after that. */
  onChanged(names: readonly Uint8Array[], serial: number): void;
  /** Everything may have changed. */
  onFlush(serial: number): void;
}

/**
 * Tells the names that changed to all who listen, with a serial: at the end of the turn of the event loop, and those of
 * the next 3 ms together. Many changes become one flush, so that a large relist costs caches no more than their answers.
 */
export class ZoneNews implements ZoneChanges {
  /** Names that were told; flushes by reason. */
  names = 0;
  readonly flushes: Record<FlushReason, number> = {
    'many-changes': 0,
    configuration: 0,
    'slow-subscriber': 0,
  };
  /** Seconds from a change of the zone until it is told. */
  readonly lag = new BucketHistogram(DURATION_BOUNDS);
  #serial = 0;
  readonly #listeners = new Set<NewsListener>();
  readonly #now: () => number;
  /** By their bytes as text. */
  readonly #changed = new Map<string, Uint8Array>();
  #immediate: NodeJS.Immediate | undefined;
  /** Ends the pause after a message, unless a change does that first: a timer wakes the program once more. */
  #pause: NodeJS.Timeout | undefined;
  #toldMs = Number.NEGATIVE_INFINITY;
  #windowMs = Number.NEGATIVE_INFINITY;
  #namesInWindow = 0;
  #flushTimer: NodeJS.Timeout | undefined;
  /** When the first change came that is not told yet; undefined when there is none. */
  #sinceMs: number | undefined;

  /** `now` is a clock in milliseconds that never falls. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** How often something was told, or may have been missed. */
  get serial(): number {
    return this.#serial;
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  /** From now on it is told. What changed while no one was has no serial, so the next answers have a new one. */
  listen(listener: NewsListener): void {
    if (!this.isWatched) this.#serial++;
    this.#listeners.add(listener);
  }

  leave(listener: NewsListener): void {
    this.#listeners.delete(listener);
  }

  add(name: Uint8Array): void {
    if (!this.isWatched || this.#flushTimer !== undefined) return;
    const nowMs = this.#now();
    this.#sinceMs ??= nowMs;
    this.#changed.set(textOf(name), name);
    if (nowMs - this.#windowMs >= WINDOW_MS) {
      this.#windowMs = nowMs;
      this.#namesInWindow = 0;
    }
    if (this.#namesInWindow + this.#changed.size > MAX_NAMES) this.#flushLater(nowMs);
    else if (nowMs - this.#toldMs < PAUSE_MS) this.#pause ??= setTimeout(this.#tellNames, PAUSE_MS);
    else this.#immediate ??= setImmediate(this.#tellNames);
  }

  addAddress({ size, bytes }: PackedAddresses, at: number): void {
    if (!this.isWatched || this.#flushTimer !== undefined) return;
    const address = Buffer.from(bytes.slice(at, at + size), 'latin1');
    this.add(encodeReverseName(address));
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
    for (const each of this.#listeners) each.onFlush(this.#serial);
    this.#noteLag(this.#now());
  }

  close(): void {
    this.#clearTimers();
    clearTimeout(this.#flushTimer);
    this.#listeners.clear();
  }

  readonly #tellNames = (): void => {
    this.#clearTimers();
    if (this.#changed.size === 0) return;
    const names = Array.from(this.#changed.values());
    this.#changed.clear();
    this.names += names.length;
    this.#namesInWindow += names.length;
    this.#toldMs = this.#now();
    this.#serial++;
    for (const each of this.#listeners) each.onChanged(names, this.#serial);
    this.#noteLag(this.#toldMs);
  };

  #clearTimers(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#pause);
    this.#immediate = this.#pause = undefined;
  }

  #noteLag(nowMs: number): void {
    if (this.#sinceMs !== undefined) this.lag.observe((nowMs - this.#sinceMs) / 1_000);
    this.#sinceMs = undefined;
  }

  #flushLater(nowMs: number): void {
    this.#changed.clear();
    this.#flushTimer = setTimeout(() => this.#endWindow(), this.#windowMs + WINDOW_MS - nowMs);
  }

  #endWindow(): void {
    this.#flushTimer = undefined;
    this.flush('many-changes');
  }
}

/** The bytes as text, a character each. */
function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
