import { describe, expect, it } from '@jest/globals';
import { SCENARIOS, secondsFor, SERVER_WORDS, type ServerWord } from '../strongest/scenarios.js';
import { sizesOf } from './strongest.js';

const ALL = SCENARIOS.map(({ name }) => name);
const GIVEN = {
  runs: 5,
  seconds: 3,
  'part-seconds': 2,
  'rate-seconds': 4,
  'warm-up': 2,
  'warm-up-answers': 1_000,
  quick: false,
  only: ALL,
};

describe('the time that strongest takes', () => {
  const secondsOf = (quick: boolean, servers: readonly ServerWord[] = SERVER_WORDS) => {
    const { plan, only } = sizesOf({ ...GIVEN, 'warm-up-answers': 100_000, quick });
    return secondsFor(only, servers, { ...plan, cores: undefined });
  };

  it('is ten minutes with --quick, whatever is installed', () => {
    expect(secondsOf(true)).toBeLessThanOrEqual(600);
    expect(secondsOf(false)).toBeGreaterThan(3_600);
  });

  it('is shorter with fewer servers, scenarios and runs', () => {
    expect(secondsOf(true, ['ours'])).toBeLessThan(secondsOf(true) / 4);
    const plan = { ...sizesOf(GIVEN).plan, cores: undefined };
    const hits = secondsFor(['hits'], SERVER_WORDS, plan);
    expect(hits).toBeLessThan(secondsFor(['hits', 'zone'], SERVER_WORDS, plan));
    expect(secondsFor(['hits'], SERVER_WORDS, { ...plan, runs: 1 })).toBeLessThan(hits);
  });
});

describe('the sizes of strongest', () => {
  it('are those that are given', () => {
    const { plan, only } = sizesOf(GIVEN);
    const warmUp = { seconds: 2, answers: 1_000 };
    expect(plan).toEqual({ runs: 5, seconds: 3, partSeconds: 2, rateSeconds: 4, warmUp });
    expect(only).toEqual(ALL);
  });

  it('are smaller with --quick, with fewer scenarios', () => {
    const { plan, only } = sizesOf({ ...GIVEN, quick: true });
    expect(plan).toMatchObject({ runs: 3, seconds: 1, partSeconds: 0.5, rateSeconds: 2 });
    expect(only).toEqual(['hits', 'hits-tcp', 'misses', 'dot', 'zone', 'zone-negative']);
  });

  it('have the scenarios of --only with --quick, too', () => {
    expect(sizesOf({ ...GIVEN, quick: true, only: ['cores'] }).only).toEqual(['cores']);
  });
});
