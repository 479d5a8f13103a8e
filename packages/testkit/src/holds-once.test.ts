import { describe, expect, it } from '@jest/globals';
import { holdsOnce } from './holds-once.js';

describe('a measurement that must hold once', () => {
  it('is not repeated when it holds', async () => {
    const attempts: number[] = [];
    await holdsOnce((attempt) => attempts.push(attempt));
    expect(attempts).toEqual([1]);
  });

  it('is repeated four times at most, and then fails with its last error', async () => {
    const attempts: number[] = [];
    const measure = (attempt: number) => {
      attempts.push(attempt);
      return Promise.reject(new Error(`${attempt} is late`));
    };
    await expect(holdsOnce(measure)).rejects.toThrow('4 is late');
    expect(attempts).toEqual([1, 2, 3, 4]);
  });
});
