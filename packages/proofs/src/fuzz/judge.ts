import type { FuzzTarget } from './fuzz-target.js';
import type { Meters } from './heap-meter.js';

/** The most that one input may take on the machine that the product is meant for. */
export const MAX_INPUT_US = 1_000;
/** The most that one input may allocate, beyond its target's allowance. */
export const MAX_INPUT_BYTES = 64 * 1024;

/** How often an input is run again before what it takes counts: others use the machine, too. */
const REPEATS = 5;
const LAST_REPEATS = 20;
const MAX_SUSPECTS = 16;

/** What one input cost, after as many repetitions as it takes to believe it. */
export interface Cost {
  readonly input: Buffer;
  readonly value: number;
}

/** Finds the inputs that take the most of something, by measuring the promising ones again. */
class Search {
  readonly #measure: (input: Buffer) => number;
  #suspects: Cost[] = [];
  #most = 0;

  constructor(measure: (input: Buffer) => number) {
    this.#measure = measure;
  }

  /** Looks at an input that seems to have taken so much. */
  look(input: Buffer, seeming: number): void {
    if (seeming <= this.#most) return;
    const value = Math.min(seeming, this.#least(input, REPEATS));
    if (value <= this.#most) return;
    this.#most = value;
    this.#suspects.push({ input: Buffer.from(input), value });
    if (this.#suspects.length > MAX_SUSPECTS) this.#suspects.shift();
  }

  /** Measures the suspects once more, now that the code is warm; the dearest comes first. */
  judge(): Cost[] {
    const costs = this.#suspects.map(({ input }) => {
      return { input, value: this.#least(input, LAST_REPEATS) };
    });
    return costs.sort((left, right) => right.value - left.value);
  }

  #least(input: Buffer, repeats: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < repeats; i++) least = Math.min(least, this.#measure(input));
    return least;
  }
}

/** Stores the inputs that took the longest and allocated the most. */
export class Judge {
  readonly slowness: Search;
  readonly hunger: Search;

  constructor(target: FuzzTarget, { nowMs, heap }: Meters) {
    const meter = heap();
    const runQuietly = (input: Buffer) => {
      try {
        target.run(input);
      } catch {
        // An error is a separate finding.
      }
    };
    this.slowness = new Search((input) => {
      const startedMs = nowMs();
      runQuietly(input);
      return (nowMs() - startedMs) * 1_000;
    });
    this.hunger = new Search((input) => {
      const allowance = target.allowance?.(input) ?? 0;
      meter.set();
      runQuietly(input);
      return Math.max(0, meter.read() - allowance);
    });
  }
}
