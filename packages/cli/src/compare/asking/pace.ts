import { setTimeout as delay } from 'node:timers/promises';

export interface PaceClock {
  /** Milliseconds, never going back. */
  now(): number;
  wait(ms: number): Promise<unknown>;
}

const SYSTEM_CLOCK: PaceClock = {
  now: () => performance.now(),
  wait: (ms) => delay(ms),
};

/** Timers come late by a millisecond or more; what was missed within this time is made up for. */
const CATCH_UP_MS = 20;

/** Lets a bounded number of turns through in a second, evenly. */
export class Pace {
  readonly #stepMs: number;
  readonly #clock: PaceClock;
  #nextAt: number;

  constructor(turnsPerSecond: number, clock: PaceClock = SYSTEM_CLOCK) {
    this.#stepMs = 1000 / turnsPerSecond;
    this.#clock = clock;
    this.#nextAt = clock.now();
  }

  /** Resolves when it is this turn's time; turns come one after the other. */
  async turn(): Promise<void> {
    const now = this.#clock.now();
    const at = Math.max(this.#nextAt, now - CATCH_UP_MS);
    this.#nextAt = at + this.#stepMs;
    if (at > now) await this.#clock.wait(at - now);
  }
}
