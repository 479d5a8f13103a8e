import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { held } from '@kube-dns/testkit';
import { LoopTurn, Task, withLimit } from './task.js';

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

describe('a pause', () => {
  it('ends after its time, with the task, or with the task around it', async () => {
    const around = new Task();
    const [long, aborted] = [new Task(around.signal), new Task(around.signal)];
    expect(await long.pause(1)).toBe(true);
    const pauses = [long.pause(60_000), aborted.pause(60_000)];
    aborted.abort();
    expect(await pauses[1]).toBe(false);
    expect(long.isAborted).toBe(false);
    around.abort();
    expect(await pauses[0]).toBe(false);
    expect(await long.pause(60_000)).toBe(false);
  });
});

describe('a time limit', () => {
  const forever = ({ signal }: Task) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });

  it('ends what takes longer, with the problem', async () => {
    const { signal } = new Task();
    await expect(withLimit(signal, 5, 'no answer', forever)).rejects.toThrow(
      'no answer within 5 ms',
    );
  });

  it('ends with the task around it, for the reason of that', async () => {
    const around = new Task();
    const limited = withLimit(around.signal, 60_000, 'no answer', forever);
    around.abort(new Error('closed'));
    await expect(limited).rejects.toThrow('closed');
  });

  it('leaves alone what outlives it', async () => {
    const task = await withLimit(new Task().signal, 5, 'no answer', (limited) =>
      Promise.resolve(limited),
    );
    expect(await task.pause(20)).toBe(true);
  });
});
