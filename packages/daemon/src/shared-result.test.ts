import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { sharedResult } from './shared-result.js';

const MAKING_MS = 100;

let finish: ((result: string) => void)[];
let get: () => Promise<string>;
beforeEach(() => {
  jest.useFakeTimers();
  finish = [];
  get = sharedResult(() => new Promise((resolve) => finish.push(resolve)));
});
afterEach(() => void jest.useRealTimers());

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

it('those who ask at the same time get one result', async () => {
  const asked = [get(), get(), get()];
  await pass(0);
  finish[0]!('first');
  expect(await Promise.all(asked)).toEqual(['first', 'first', 'first']);
  expect(finish).toHaveLength(1);
});

it('those who ask meanwhile get the next one, which begins after a pause of three times the making', async () => {
  const first = get();
  await pass(0);
  const during = get();
  await pass(MAKING_MS);
  finish[0]!('first');
  expect(await first).toBe('first');
  await pass(3 * MAKING_MS - 1);
  const inPause = get();
  expect(finish).toHaveLength(1);
  await pass(1);
  expect(finish).toHaveLength(2);
  finish[1]!('second');
  expect(await Promise.all([during, inPause])).toEqual(['second', 'second']);
});

it('a failure is that of those who waited for it, and the next one is made', async () => {
  let count = 0;
  const failsOnce = sharedResult(() =>
    count++ === 0 ? Promise.reject(new Error('no')) : Promise.resolve('second'),
  );
  await expect(failsOnce()).rejects.toThrow('no');
  const second = failsOnce();
  await pass(0);
  expect(await second).toBe('second');
});
