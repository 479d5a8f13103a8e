import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { held } from '@kube-dns/testkit';
import { LoopTurn } from './loop-turn.js';

const TURN_MS = 4;

beforeEach(() => void jest.useFakeTimers(held('performance')));
afterEach(() => void jest.useRealTimers());

describe('a turn of long work', () => {
  it('is over after 4 ms', () => {
    const turn = new LoopTurn();
    jest.advanceTimersByTime(TURN_MS - 1);
    expect(turn.isOver).toBe(false);
    jest.advanceTimersByTime(1);
    expect(turn.isOver).toBe(true);
  });

  it('is followed by one as long, once all else has had its turn', async () => {
    const turn = new LoopTurn();
    jest.advanceTimersByTime(TURN_MS);
    let isServed = false;
    setImmediate(() => (isServed = true));
    await turn.next();
    expect([isServed, turn.isOver]).toEqual([true, false]);
    jest.advanceTimersByTime(TURN_MS);
    expect(turn.isOver).toBe(true);
  });
});
