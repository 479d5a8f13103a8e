import type { Scheduler } from '../scheduler.js';

/** Whether changes get to a cache, since when, and until when they did. Times are virtual microseconds. */
export class Health {
  /** Undefined while they do not. */
  soundSinceUs: number | undefined;
  /** When they did last; before that undefined. */
  #lastSoundUs = 0;
  readonly #scheduler: Pick<Scheduler, 'nowUs'>;
  readonly #isSound: () => boolean;

  constructor(scheduler: Pick<Scheduler, 'nowUs'>, isSound: () => boolean) {
    this.#scheduler = scheduler;
    this.#isSound = isSound;
  }

  get lastSoundUs(): number {
    return this.soundSinceUs === undefined ? this.#lastSoundUs : this.#scheduler.nowUs;
  }

  /** Whether that is so for a time. */
  isSoundFor(us: number): boolean {
    return this.soundSinceUs !== undefined && this.#scheduler.nowUs - this.soundSinceUs >= us;
  }

  /** Something has happened that it depends on. */
  note(): void {
    const isSound = this.#isSound();
    if (isSound === (this.soundSinceUs !== undefined)) return;
    this.#lastSoundUs = this.#scheduler.nowUs;
    this.soundSinceUs = isSound ? this.#scheduler.nowUs : undefined;
  }
}
