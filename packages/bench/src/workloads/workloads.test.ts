import { describe, expect, it } from '@jest/globals';
import type { Metrics, Score } from '../load/contest.js';
import { ScoreLog } from '../load/score-log.js';
import { DNSMASQ, OUR_DNSMASQ, OUR_KUBEDNS } from '../load/server-testbed.js';
import { DNSMASQ_HITS, searchPathQuestions } from './caching.js';
import { KUBEDNS_SERVICES, MIXED_CLIENTS } from './services.js';
import { soonAsDnsmasq } from './workload.js';
import { WORKLOADS } from './workload-table.js';

const METRICS: Metrics = {
  queriesPerSecond: 100,
  userUs: 1,
  systemUs: 2,
  cpuUs: 3,
  p50Ms: 0.1,
  p99Ms: 0.2,
  singleUs: 60,
  answeredPercent: 100,
  wrong: 0,
  answerBytes: 70,
  rssMib: 60,
};

function score(subject: string, metrics: Partial<Metrics> = {}, trial = 'A'): Score {
  return { subject, trial, run: 1, metrics: { ...METRICS, ...metrics } };
}

describe('the workloads', () => {
  it('have names of their own', () => {
    const names = WORKLOADS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('look names up along the search path: four that do not exist, then the name', () => {
    const questions = searchPathQuestions(10);
    expect(questions.map(({ name }) => name).slice(0, 5)).toEqual([
      'host-0.example.team-000.svc.cluster.local',
      'host-0.example.svc.cluster.local',
      'host-0.example.cluster.local',
      'host-0.example.region.compute.internal',
      'host-0.example',
    ]);
    expect(new Set(questions.map(({ name }) => name)).size).toBe(10);
  });
});

describe('the bars', () => {
  it('are ratios to dnsmasq', () => {
    const ours = score(OUR_DNSMASQ, { queriesPerSecond: 140, cpuUs: 1.5 });
    const judged = DNSMASQ_HITS.judge(new ScoreLog([ours, score(DNSMASQ)]));
    expect(judged.slice(0, 2)).toMatchObject([
      { value: 1.4, unit: '×', bar: { atLeast: 1.3 } },
      { value: 0.5, unit: '×', bar: { atMost: 0.75 } },
    ]);
  });

  it('are left out where there is no dnsmasq', () => {
    expect(KUBEDNS_SERVICES.judge(new ScoreLog([score(OUR_KUBEDNS)]))).toEqual([]);
  });

  it.each([
    ['half a millisecond where dnsmasq is soon', 0.2, 0.5],
    ['one and a half times dnsmasq’s where it is late', 4, 6],
  ])('of the 99th percentile are %s', (_, p99Ms, atMost) => {
    const log = new ScoreLog([score(OUR_DNSMASQ), score(DNSMASQ, { p99Ms })]);
    const [p99, single] = soonAsDnsmasq(log, OUR_DNSMASQ);
    expect(p99).toMatchObject({ value: 0.2, unit: 'ms', bar: { atMost } });
    expect(single).toMatchObject({ value: 1, bar: { atMost: 1.2 } });
  });

  it('of latency are left out if it was not measured', () => {
    const nothing = { p99Ms: NaN, singleUs: NaN };
    const log = new ScoreLog([score(OUR_DNSMASQ, nothing), score(DNSMASQ, nothing)]);
    expect(soonAsDnsmasq(log, OUR_DNSMASQ)).toEqual([]);
  });

  it('compare mixed questions with plain ones of the same container', () => {
    const log = new ScoreLog([
      score(OUR_KUBEDNS),
      score(OUR_KUBEDNS, { queriesPerSecond: 95 }, 'mixed'),
      score(OUR_DNSMASQ),
      score(OUR_DNSMASQ, { queriesPerSecond: 80 }, 'mixed'),
    ]);
    expect(MIXED_CLIENTS.judge(log)).toMatchObject([
      { value: 0.95, bar: { atLeast: 0.9 } },
      { value: 0.8, bar: { atLeast: 0.9 } },
    ]);
  });
});
