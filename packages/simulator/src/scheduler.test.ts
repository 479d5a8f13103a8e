import { describe, expect, it } from '@jest/globals';
import { Random } from './random.js';
import { Scheduler } from './scheduler.js';

describe('virtual time', () => {
  it('runs events in the order of their times, then of their making, with their promises between', async () => {
    const scheduler = new Scheduler();
    const seen: string[] = [];
    const note = (text: string) => seen.push(`${scheduler.nowUs} ${text}`);
    scheduler.at(20, () => note('c'));
    scheduler.at(10, () => {
      note('a');
      void Promise.resolve().then(() => process.nextTick(() => note('a, later')));
    });
    scheduler.at(10, () => note('b'));
    scheduler.at(15, () => note('cancelled')).cancel();
    scheduler.at(31, () => note('too late'));
    await scheduler.run(30);
    expect(seen).toEqual(['10 a', '10 a, later', '10 b', '20 c']);
    expect(scheduler.nowUs).toBe(30);
    expect(scheduler.pending).toBe(1);
  });

  it('stops before the next event when that is asked for', async () => {
    const scheduler = new Scheduler();
    let count = 0;
    for (let at = 1; at <= 10; at++) scheduler.at(at, () => count++);
    await scheduler.run(10, () => count === 4);
    expect([count, scheduler.nowUs]).toEqual([4, 4]);
    await scheduler.run(10);
    expect(count).toBe(10);
  });
});

describe('random numbers of a seed', () => {
  it('are the same for the same seed, and others for each part', () => {
    const draw = (random: Random) => Array.from({ length: 5 }, () => random.uint32());
    expect(draw(new Random('a'))).toEqual(draw(new Random('a')));
    expect(draw(new Random('a'))).not.toEqual(draw(new Random('b')));
    expect(draw(new Random('a').fork('x'))).not.toEqual(draw(new Random('a').fork('y')));
  });

  it('are spread evenly', () => {
    const random = new Random('even');
    const counts = new Uint32Array(10);
    for (let i = 0; i < 100_000; i++) counts[random.below(10)]!++;
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });
});
