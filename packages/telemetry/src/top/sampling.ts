/** This many questions of each period are all counted, */
const EXACT = 200;
const PERIOD_MS = 100;
/** then one in so many, at random, for all of them. */
const STEP = 64;

/** A source of random 32-bit numbers; the low bits are as good as the others. */
export type Random = () => number;

/**
 * Chooses the questions that are counted, so that counting costs little at a high rate: every one at a low rate. The
 * distances are random, because questions often come in a pattern, such as A and AAAA in turn.
 */
export class Sampling {
  readonly #random: Random;
  #left = EXACT;
  #skip = 0;
  #timer: NodeJS.Timeout | undefined;
  #isTiming = false;

  constructor(random: Random = xorshift()) {
    this.#random = random;
  }

  /** How many questions the next one counts for; 0 when it is not counted. */
  take(): number {
    if (this.#left > 0) {
      if (this.#left-- === EXACT) this.#startPeriod();
      return 1;
    }
    if (this.#skip-- > 0) return 0;
    // 0 to 2 * STEP - 2 are left out, STEP - 1 on average.
    this.#skip = (this.#random() >>> 0) % (2 * STEP - 1);
    return STEP;
  }

  /** Ends the period; called by a timer that runs only while there are questions. */
  endPeriod(): void {
    this.#isTiming = false;
    this.#left = EXACT;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #startPeriod(): void {
    if (this.#isTiming) return;
    this.#isTiming = true;
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.endPeriod(), PERIOD_MS).unref();
    } else this.#timer.refresh();
  }
}

/** Marsaglia's xorshift with 32 bits. */
function xorshift(): Random {
  let state = Math.floor(Math.random() * 0xffff_ffff) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state;
  };
}
