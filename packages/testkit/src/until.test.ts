import { describe, expect, it } from '@jest/globals';
import { becomesTrue, until } from './until.js';

describe('until', () => {
  it('returns what is found, also later', async () => {
    let looks = 0;
    expect(await until('a number', () => (++looks === 3 ? 7 : undefined))).toBe(7);
    expect(await until('nothing', () => Promise.resolve(0))).toBe(0);
  });

  it('rejects with what is missing, as it is called then', async () => {
    let said = 'x';
    const find = () => {
      said = 'y';
      return false;
    };
    const wait = until(() => `the end of ${said}`, find, { limitMs: 20, stepMs: 5 });
    await expect(wait).rejects.toThrow('not within 0.02 s: the end of y');
  });

  it('rejects with the source of the search when it is not named', async () => {
    const wait = until(() => false, { limitMs: 20, stepMs: 5 });
    await expect(wait).rejects.toThrow('not within 0.02 s: ()=>false');
  });

  it('ends at once with what the search throws', async () => {
    const find = () => {
      throw new Error('it is gone');
    };
    await expect(until('it', find)).rejects.toThrow('it is gone');
  });
});

describe('becomesTrue', () => {
  it('tells whether the condition came to hold', async () => {
    let looks = 0;
    expect(await becomesTrue(() => ++looks === 3)).toBe(true);
    expect(await becomesTrue(() => false, { limitMs: 20, stepMs: 5 })).toBe(false);
  });
});
