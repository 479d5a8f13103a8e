import { describe, expect, it } from '@jest/globals';
import { Judge } from './judge.js';
import { askAddress, askStub } from './question.js';
import { Schedule } from './schedule.js';
import { serviceState } from './service-state.js';

/** One service, changed each 10 s. */
const PLAN = { startMs: 10_000, changesPerSecond: 0.1, churned: 1, settled: 1, configMs: 10_000 };
const judge = new Judge(new Schedule(PLAN), { settleMs: 1_000, cacheMs: 4_000 });
const question = askAddress(0);

function at(ms: number, isCached = false): readonly string[] {
  return judge.rightAnswers(question, isCached, ms, ms);
}

describe('the right answers', () => {
  it('are the one of the version that has settled', () => {
    expect(at(5_000)).toEqual([question.expected(0)]);
    expect(at(45_500)).toEqual([question.expected(4)]);
    expect(question.expected(3)).toBe('NXDOMAIN');
  });

  it('are the old and the new one while a change settles, and longer where a cache may have it', () => {
    expect(at(40_500)).toEqual([question.expected(4), question.expected(3)]);
    expect(at(41_500)).toEqual([question.expected(4)]);
    expect(at(44_500, true)).toEqual([question.expected(4), question.expected(3)]);
    expect(at(45_500, true)).toEqual([question.expected(4)]);
  });

  it('include that of a change while the query was in flight', () => {
    expect(judge.rightAnswers(question, false, 38_000, 40_001)).toEqual([
      question.expected(4),
      question.expected(3),
    ]);
  });

  it('come from no cache after the configuration names another server', () => {
    const stub = askStub('a', 'corp.test');
    expect(judge.rightAnswers(stub, true, 21_500, 21_500)).toEqual([stub.expected(1)]);
    expect(stub.expected(1)).not.toBe(stub.expected(0));
  });

  it('never change for a settled service', () => {
    const settled = askAddress(1);
    expect(judge.rightAnswers(settled, true, 99_000, 99_000)).toEqual([settled.expected(0)]);
    expect(settled.expected(0)).toContain(serviceState(1, 0).ready[0]!.address);
  });
});
