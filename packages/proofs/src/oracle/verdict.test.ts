import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { History, Verdict } from './verdict.js';
import type { OracleQuestion, World } from './world.js';
import { Stalls } from '../fixtures/steady-client.js';

const RIGHT_FIRST = 'NOERROR | a a 10.0.0.1';
/** The first namespace is the only thing that this world has. */
const world = (isThere: boolean): World => ({ slots: [], bare: [isThere] });
const question: OracleQuestion = {
  name: 'a',
  type: 'A',
  expected: ({ bare }) => (bare[0] === true ? RIGHT_FIRST : 'NXDOMAIN'),
};

let stalls: Stalls;
let verdict: Verdict;
beforeEach(() => {
  const history = new History();
  stalls = new Stalls();
  history.add(world(true), 1_000);
  history.add(world(false), 2_000);
  verdict = new Verdict(history, stalls, 100);
});
afterEach(() => stalls.close());

const judge = (text: string | undefined, askedMs: number) =>
  verdict.judge({ question, askedMs, text }, 'subscribed');

describe('the verdict on an answer', () => {
  it.each([
    ['that is right', 'NXDOMAIN', 5_000, { old: 0, oldestPositiveMs: 0 }],
    ['that was right when it was asked for', RIGHT_FIRST, 1_500, { old: 0, oldestPositiveMs: 0 }],
    ['that was right before', RIGHT_FIRST, 2_300, { old: 1, oldestPositiveMs: 300 }],
    ['that says only that a name exists', 'NOERROR', 2_300, { old: 1, oldestNegativeMs: 300 }],
    ['that was never right', 'NOERROR | a a 10.0.0.9', 2_300, { wrong: 1, old: 0 }],
  ])('%s', (_, text, askedMs, figures) => {
    judge(text, askedMs);
    expect(verdict.tallies.subscribed).toMatchObject({ answers: 1, failed: 0, ...figures });
  });

  it('that did not come, or is a failure', () => {
    verdict.calm('after a fault', 0);
    judge(undefined, 5_000);
    judge('SERVFAIL', 5_000);
    judge('SERVFAIL', 1_000);
    expect(verdict.tallies.subscribed).toMatchObject({ answers: 0, failed: 2 });
    expect(verdict.tallies.disturbed.failed).toBe(1);
  });
});
