import { describe, expect, it } from '@jest/globals';
import { becomesTrue, until } from './until.js';

describe('until', () => {
  it('returns the result, also a later one', async () => {
    let looks = 0;
    expect(await until('a number', () => (++looks === 3 ? 7 : undefined))).toBe(7);
    expect(await until('nothing', () => Promise.resolve(0))).toBe(0);
  });

  it('rejects with the name of the missing result at that moment', async () => {
    let what = 'x';
    const find = () => {
      what = 'y';
      return false;
    };
    const wait = until(() => `the end of ${what}`, find, { limitMs: 20, stepMs: 5 });
    await expect(wait).rejects.toThrow('not within 0.02 s: the end of y');
  });

  it('rejects with the source of the search when it has no name', async () => {
    const wait = until(() => false, { limitMs: 20, stepMs: 5 });
    await expect(wait).rejects.toThrow(/^not within 0\.02 s: \(\) ?=> ?false$/);
  });

  it('ends immediately with an error that the search throws', async () => {
    const find = () => {
      throw new Error('it is gone');
    };
    await expect(until('it', find)).rejects.toThrow('it is gone');
  });
});

describe('becomesTrue', () => {
  it('returns whether the condition became true', async () => {
    let looks = 0;
    expect(await becomesTrue(() => ++looks === 3)).toBe(true);
    expect(await becomesTrue(() => false, { limitMs: 20, stepMs: 5 })).toBe(false);
  });
});
