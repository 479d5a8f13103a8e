import { SIDES, type Side, type Way } from './way.js';

/** After this many unanswered questions in a row a side is not asked in this way any more. */
const MAX_SILENT = 50;

/** Records in which ways the two sides still reply, so that a dead one does not delay the run for hours. */
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

  /** Records a reply, or the reason why there is none. */
  note(side: Side, way: Way, failure: string | undefined): void {
    const key = `${side} ${way}`;
    const before = this.#silent.get(key) ?? 0;
    if (before >= MAX_SILENT) return; // it was still in flight
    this.#silent.set(key, failure === undefined ? 0 : before + 1);
    if (failure !== undefined && before + 1 === MAX_SILENT) this.#onGivenUp(side, way, failure);
  }
}
