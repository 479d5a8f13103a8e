import { BucketHistogram } from '@kube-dns/daemon';

/** Of one message; older receivers refuse more. */
const MAX_NAMES = 256;
/**
 * So many names are passed on a ms in the long run, and so many at once after a pause: those that a busy cluster changes in a third
 * of a second, in which a program may have stood still. More become a flush after this time.
 */
const NAMES_PER_MS = 12.8;
const NAMES_AT_ONCE = 1_024;
const FLUSH_AFTER_MS = 20;
/** From one collection of names to the next: a message costs both sides more than the names in it. */
const PAUSE_MS = 3;
/**
 * With more receivers the square of the pause is this for each: 27 ms with 250, 122 ms with 5,000. So the messages to all of them
 * are 9,100 and 41,000 a second at most, however much changes.
 */
const SQUARE_PER_RECEIVER = 3;
/** Without one names are only remembered, for those that come back. */
const PAUSE_ALONE_MS = 100;
/** Upper bounds in seconds. */
const LAG_BOUNDS = [0.001, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Why everything may have changed; for one subscriber, when it has read what it left unread. */
const OWN_REASONS = ['many-changes', 'slow-subscriber'] as const;
type OwnReason = (typeof OWN_REASONS)[number];

/** Learns what changes. */
export interface ChangeObserver {
  /** How many it passes on to what it learns: with many of them names are collected for longer. */
  readonly receivers: number;
  /** At most 256 names that changed, lower-cased in wire form, and the serial after that. */
  onChanged(names: readonly Uint8Array[], serial: number): void;
  /** Everything may have changed. */
  onFlush(serial: number): void;
}

/**
 * Passes the names that changed on to its observers, with a serial: at the end of the turn of the event loop, and those of
 * the next 3 ms together, or of up to 134 ms with 6,000 receivers. More than 1,024 at once, or 12,800 a second, become one flush, so that a large
 * relist costs caches no more than their answers.
 */
export class ChangeFeed<Reason extends string = never> {
  /** Names that were passed on; flushes by reason. */
  names = 0;
  readonly flushes: Record<OwnReason | Reason, number>;
  /** Seconds from a change of the zone until it is passed on. */
  readonly lag = new BucketHistogram(LAG_BOUNDS);
  #serial = 0;
  readonly #observers = new Set<ChangeObserver>();
  readonly #now: () => number;
  /** By their bytes as text. */
  readonly #changed = new Map<string, Uint8Array>();
  #immediate: NodeJS.Immediate | undefined;
  /** After a message: one timer, which is begun again, as long as the pauses are of the same length. */
  #pause: { readonly ms: number; readonly timer: NodeJS.Timeout } | undefined;
  #isPausing = false;
  /** How many names could be passed on at a time. */
  #left = NAMES_AT_ONCE;
  #leftMs = Number.NEGATIVE_INFINITY;
  #flushTimer: NodeJS.Timeout | undefined;
  /** Of the names that are passed on now. */
  #hasMoreParts = false;
  /** When the first change came that is still pending; undefined when there is none. */
  #sinceMs: number | undefined;

  /** With these reasons of who uses it; `now` is a clock in milliseconds that never falls. */
  constructor(reasons: readonly Reason[] = [], now: () => number = () => performance.now()) {
    const counts = [...OWN_REASONS, ...reasons].map((reason) => [reason, 0] as const);
    this.flushes = Object.fromEntries(counts) as Record<OwnReason | Reason, number>;
    this.#now = now;
  }

  /** How often something was passed on, or may have been missed. */
  get serial(): number {
    return this.#serial;
  }

  get isObserved(): boolean {
    return this.#observers.size > 0;
  }

  /** Whether a name that changes is passed on: else the names need not be found. */
  get takesNames(): boolean {
    return this.isObserved && this.#flushTimer === undefined;
  }

  /** Whether there are changes that were not passed on yet. */
  get isPending(): boolean {
    return this.#changed.size > 0 || this.#flushTimer !== undefined || this.#hasMoreParts;
  }

  /** What changed while there was no observer has no serial, so the next answers have a new one. */
  observe(observer: ChangeObserver): void {
    if (!this.isObserved) this.#serial++;
    this.#observers.add(observer);
  }

  leave(observer: ChangeObserver): void {
    this.#observers.delete(observer);
  }

  add(name: Uint8Array): void {
    if (!this.takesNames) return;
    this.#sinceMs ??= this.#now();
    this.#changed.set(textOf(name), name);
    if (this.#changed.size > this.#left && this.#areTooMany) this.#flushLater();
    else if (!this.#isPausing) this.#immediate ??= setImmediate(this.#sendNames);
  }

  /** Passes on at once what is still collected, and the next name without a pause. */
  passOn(): void {
    this.#sendNames();
    this.#isPausing = false;
  }

  /** Everything may have changed. */
  flush(reason: OwnReason | Reason): void {
    this.#changed.clear();
    if (!this.isObserved) {
      this.#sinceMs = undefined;
      return;
    }
    this.flushes[reason]++;
    this.#serial++;
    for (const each of this.#observers) each.onFlush(this.#serial);
    this.#noteLag(this.#now());
  }

  close(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#pause?.timer);
    clearTimeout(this.#flushTimer);
    this.#immediate = this.#pause = undefined;
    this.#isPausing = false;
    this.#observers.clear();
  }

  readonly #sendNames = (): void => {
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    this.#isPausing = this.#changed.size > 0;
    if (!this.#isPausing) return;
    const names = Array.from(this.#changed.values());
    this.#changed.clear();
    this.names += names.length;
    const nowMs = this.#now();
    this.#left = this.#mostAt(nowMs) - names.length;
    this.#leftMs = nowMs;
    this.#beginPause();
    for (let at = 0; at < names.length; at += MAX_NAMES) {
      const part = names.slice(at, at + MAX_NAMES);
      this.#serial++;
      this.#hasMoreParts = at + MAX_NAMES < names.length;
      for (const each of this.#observers) each.onChanged(part, this.#serial);
    }
    this.#noteLag(nowMs);
  };

  #beginPause(): void {
    const ms = Math.ceil(this.#pauseMs);
    if (this.#pause?.ms === ms) this.#pause.timer.refresh();
    else {
      clearTimeout(this.#pause?.timer);
      this.#pause = { ms, timer: setTimeout(this.#sendNames, ms) };
    }
  }

  get #areTooMany(): boolean {
    return this.#changed.size > this.#mostAt(this.#now());
  }

  get #pauseMs(): number {
    const receivers = this.#receivers;
    if (receivers === 0) return PAUSE_ALONE_MS;
    return Math.max(PAUSE_MS, Math.sqrt(SQUARE_PER_RECEIVER * receivers));
  }

  get #receivers(): number {
    let receivers = 0;
    for (const each of this.#observers) receivers += each.receivers;
    return receivers;
  }

  /** How many names can be passed on. */
  #mostAt(nowMs: number): number {
    const most = Math.max(NAMES_AT_ONCE, this.#pauseMs * NAMES_PER_MS);
    return Math.min(most, this.#left + (nowMs - this.#leftMs) * NAMES_PER_MS);
  }

  #noteLag(nowMs: number): void {
    if (this.#sinceMs !== undefined && this.#receivers > 0)
      this.lag.observe((nowMs - this.#sinceMs) / 1_000);
    this.#sinceMs = undefined;
  }

  #flushLater(): void {
    this.#changed.clear();
    this.#flushTimer = setTimeout(
      () => {
        this.#flushTimer = undefined;
        this.#left = MAX_NAMES;
        this.#leftMs = this.#now();
        this.flush('many-changes');
      },
      Math.max(FLUSH_AFTER_MS, this.#pauseMs),
    );
  }
}

/** The bytes as text, a character each. */
function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
