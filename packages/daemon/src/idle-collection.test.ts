import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ownedBy } from '@kube-dns/testkit';
import { IdleCollection } from './idle-collection.js';

const PERIOD_MS = 10_000;

let activeMs = 0;
let collections = 0;
const opened = ownedBy(afterEach);

beforeEach(() => {
  jest.useFakeTimers();
  activeMs = 300;
  collections = 0;
  const collect = () => {
    collections++;
    activeMs += 600;
  };
  opened(new IdleCollection({ activeMs: () => activeMs, collect, periodMs: PERIOD_MS }));
});
afterEach(() => void jest.useRealTimers());

/** One period, with this much work in it. */
function period(workMs: number): void {
  activeMs += workMs;
  jest.advanceTimersByTime(PERIOD_MS);
}

it('garbage is collected once when the work is over, and not while there is some', () => {
  for (const workMs of [2_000, 400, 41]) period(workMs);
  expect(collections).toBe(0);
  for (let i = 0; i < 10; i++) period(19);
  expect(collections).toBe(1);
});

it('a program that has little to do collects after a fifth of a second of work, its collections not counted', () => {
  for (let i = 0; i < 10; i++) period(19);
  expect(collections).toBe(0);
  period(19);
  expect(collections).toBe(1);
  for (let i = 0; i < 10; i++) period(19);
  expect(collections).toBe(1);
  period(19);
  expect(collections).toBe(2);
});

it('nothing is collected after a start without work', () => {
  for (let i = 0; i < 10; i++) period(0);
  expect(collections).toBe(0);
});
