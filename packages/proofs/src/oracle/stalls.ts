import { type Closable, monotonicMs } from '@kube-dns/testkit';

const TICK_MS = 5;
/** What a timer may be late by on any machine. */
const LATE_MS = 5;
const FORGOTTEN_MS = 60_000;

/** When this process had no core, or no turn: what it was to send then left later. */
export class Stalls implements Closable {
  /** In all. */
  totalMs = 0;
  longestMs = 0;
  readonly #stalls: { readonly fromMs: number; readonly toMs: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #lateMs: number;
  readonly #nowMs: () => number;
  #lastMs: number;

  /** A turn that comes later than `lateMs` is a stall. */
  constructor(lateMs = LATE_MS, nowMs = monotonicMs) {
    this.#lateMs = lateMs;
    this.#nowMs = nowMs;
    this.#lastMs = nowMs();
    this.#timer = setInterval(() => this.look(), TICK_MS);
  }

  /** To be called before a stall of this very turn is asked for. */
  look(): void {
    const nowMs = this.#nowMs();
    const lateMs = nowMs - this.#lastMs - TICK_MS;
    if (lateMs > this.#lateMs) {
      this.#stalls.push({ fromMs: this.#lastMs, toMs: nowMs });
      this.totalMs += lateMs;
      this.longestMs = Math.max(this.longestMs, lateMs);
    }
    this.#lastMs = nowMs;
    while ((this.#stalls[0]?.toMs ?? nowMs) < nowMs - FORGOTTEN_MS) this.#stalls.shift();
  }

  /** How much of a time was a stall. */
  within(fromMs: number, toMs: number): number {
    return this.#stalls.reduce((sum, stall) => {
      return sum + Math.max(0, Math.min(toMs, stall.toMs) - Math.max(fromMs, stall.fromMs));
    }, 0);
  }

  close(): Promise<void> {
    clearInterval(this.#timer);
    return Promise.resolve();
  }
}
