import { SIDES, type Side, type Way } from './way.js';

/** So many questions in a row without a reply: this side will not answer the rest in this way either. */
const MAX_SILENT = 50;

/** Knows in which ways the two sides still reply, so that a dead one does not hold up the run for hours. */
export class WayGuard {
  readonly #silent = new Map<string, number>();
  readonly #onGivenUp: (side: Side, way: Way, reason: string) => void;

  constructor(onGivenUp: (side: Side, way: Way, reason: string) => void) {
    this.#onGivenUp = onGivenUp;
  }

  /** Whether both sides can be asked in this way. */
  isOpen(way: Way): boolean {
    return SIDES.every((side) => (this.#silent.get(`${side} ${way}`) ?? 0) < MAX_SILENT);
  }

  /** Takes note of a reply, or of the reason why there is none. */
  note(side: Side, way: Way, failure: string | undefined): void {
    const key = `${side} ${way}`;
    const before = this.#silent.get(key) ?? 0;
    if (before >= MAX_SILENT) return; // what was still under way
    this.#silent.set(key, failure === undefined ? 0 : before + 1);
    if (failure !== undefined && before + 1 === MAX_SILENT) this.#onGivenUp(side, way, failure);
  }
}
