import { systemClock, type Clock } from '../../clock.js';

/** Timers come late by a millisecond or more; what was missed within this time is made up for. */
const CATCH_UP_MS = 20;

/** Lets a bounded number of turns through in a second, evenly. */
export class Pace {
  readonly #stepMs: number;
  readonly #clock: Clock;
  #nextAt: number;

  constructor(turnsPerSecond: number, clock: Clock = systemClock) {
    this.#stepMs = 1000 / turnsPerSecond;
    this.#clock = clock;
    this.#nextAt = clock.now();
  }

  /** Resolves when it is this turn's time; turns come one after the other. */
  async turn(): Promise<void> {
    const now = this.#clock.now();
    const at = Math.max(this.#nextAt, now - CATCH_UP_MS);
    this.#nextAt = at + this.#stepMs;
    if (at > now) await new Promise<void>((resolve) => this.#clock.after(at - now, resolve));
  }
}
