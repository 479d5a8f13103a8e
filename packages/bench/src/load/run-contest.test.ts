import { describe, expect, it } from '@jest/globals';
import { coldNote, warmUp } from './run-contest.js';

const PLAN = { seconds: 2, answers: 10_000 };
const SIZE = { questions: 100 };

/** Answers at this rate, on a clock of its own. */
function server(perSecond: number) {
  let seconds = 0;
  const asked: (readonly [number, number | undefined])[] = [];
  const ask = (atMost: number, passes: number | undefined) => {
    asked.push([atMost, passes]);
    const answers = Math.min(atMost * perSecond, (passes ?? Infinity) * SIZE.questions);
    seconds += answers / perSecond;
    return Promise.resolve(answers);
  };
  return { asked, ask, now: () => seconds * 1_000 };
}

describe('the warm-up', () => {
  it('lasts as long as it should where that gives enough answers', async () => {
    const { ask, asked, now } = server(50_000);
    expect(await warmUp(ask, PLAN, SIZE, now)).toBe(100_000);
    expect(asked).toEqual([[2, undefined]]);
  });

  it('lasts until a slow server has given enough answers', async () => {
    const { ask, asked, now } = server(1_000);
    expect(await warmUp(ask, PLAN, SIZE, now)).toBe(10_000);
    expect(asked).toEqual([
      [2, undefined],
      [18, 80],
    ]);
    expect(coldNote(PLAN, 10_000)).toBeUndefined();
  });

  it('gives a very slow one up, which is said', async () => {
    const { ask, now } = server(100);
    const answers = await warmUp(ask, PLAN, SIZE, now);
    expect(answers).toBe(2_000);
    expect(coldNote(PLAN, answers)).toMatch(
      /^only 2000 answers before the measurement, and not 10000:/,
    );
  });

  it('counts what the process has answered before', async () => {
    const { ask, asked, now } = server(1_000);
    expect(await warmUp(ask, PLAN, { ...SIZE, before: 9_000 }, now)).toBe(11_000);
    expect(asked.length).toBe(1);
  });

  it('is left out where it has no seconds', async () => {
    const { ask, asked } = server(1_000);
    expect(await warmUp(ask, { ...PLAN, seconds: 0 }, SIZE)).toBe(0);
    expect(asked).toEqual([]);
    expect(coldNote({ ...PLAN, seconds: 0 }, 0)).toBeUndefined();
  });
});
