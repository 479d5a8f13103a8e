import { setImmediate } from 'node:timers/promises';

/** Maximum time of work before other events get their turn. Three lists at a time may have one each. */
const TURN_MS = 4;

/** Cuts long work into turns of the event loop, by time: `if (turn.isOver) await turn.next()`. */
export class LoopTurn {
  #endMs = performance.now() + TURN_MS;

  get isOver(): boolean {
    return performance.now() >= this.#endMs;
  }

  /** Resolves in another turn of the event loop, after timers and sockets were served. */
  async next(): Promise<void> {
    await setImmediate();
    this.#endMs = performance.now() + TURN_MS;
  }
}

/** Does work that may stop at each `yield`, in turns of the event loop: the first step at once. Rejects as the work throws. */
export async function inTurns(work: Iterator<void>): Promise<void> {
  const turn = new LoopTurn();
  while (work.next().done !== true) if (turn.isOver) await turn.next();
}

/** Does such work without a pause. */
export function atOnce(work: Iterator<void>): void {
  while (work.next().done !== true);
}
