import { type Clock, systemClock } from '@kube-dns/base';

/** Timers are late by a millisecond or more; turns missed within this time are made up for. */
const CATCH_UP_MS = 20;

/** Grants a bounded number of turns per second, evenly spaced. */
export class Pace {
  readonly #stepMs: number;
  readonly #clock: Clock;
  #nextAt: number;

  constructor(turnsPerSecond: number, clock: Clock = systemClock) {
    this.#stepMs = 1000 / turnsPerSecond;
    this.#clock = clock;
    this.#nextAt = clock.now();
  }

  /** Resolves when this turn is due; turns are granted in order. */
  async turn(): Promise<void> {
    const now = this.#clock.now();
    const at = Math.max(this.#nextAt, now - CATCH_UP_MS);
    this.#nextAt = at + this.#stepMs;
    if (at > now) await new Promise<void>((resolve) => this.#clock.after(at - now, resolve));
  }
}
