import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { atOnce, inTurns, LoopTurn } from './loop-turn.js';

const TURN_MS = 4;

let nowMs = 0;
beforeEach(() => {
  nowMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => void jest.restoreAllMocks());

describe('a turn of long work', () => {
  it('is over after 4 ms', () => {
    const turn = new LoopTurn();
    nowMs = TURN_MS - 1;
    expect(turn.isOver).toBe(false);
    nowMs = TURN_MS;
    expect(turn.isOver).toBe(true);
  });

  it('is followed by one as long, once all else has had its turn', async () => {
    const turn = new LoopTurn();
    nowMs = TURN_MS;
    let isServed = false;
    setImmediate(() => (isServed = true));
    await turn.next();
    expect([isServed, turn.isOver]).toEqual([true, false]);
    nowMs += TURN_MS;
    expect(turn.isOver).toBe(true);
  });
});

describe('work in steps', () => {
  let done: number;
  /** Steps of 3 ms. */
  function* work(): Generator<void, void> {
    for (done = 0; done < 10; done++) {
      nowMs += 3;
      yield;
    }
  }

  it('lets others have their turn after the step with which 4 ms are over', async () => {
    const seen: number[] = [];
    const watch = () => {
      seen.push(done);
      if (done < 10) setImmediate(watch);
    };
    setImmediate(watch);
    await inTurns(work());
    expect(done).toBe(10);
    // Two steps in each turn.
    expect(seen.slice(0, 4)).toEqual([1, 3, 5, 7]);
  });

  it('is done without a pause where nothing else waits', () => {
    atOnce(work());
    expect(done).toBe(10);
  });

  it('rejects with what the work throws', async () => {
    function* broken(): Generator<void, void> {
      yield;
      throw new Error('broken');
    }
    await expect(inTurns(broken())).rejects.toThrow('broken');
  });
});
