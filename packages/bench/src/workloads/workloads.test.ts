import { describe, expect, it } from '@jest/globals';
import { type Metrics, NO_METRICS, type Score, ScoreLog } from '../load/scores.js';
import { COREDNS, DNSMASQ, OUR_DNSMASQ, OUR_KUBEDNS } from '../load/testbed.js';
import {
  HITS,
  KUBEDNS_SERVICES,
  MISSES_OUTSIDE,
  MISSES_ZONE,
  MIXED_CLIENTS,
  POD,
  SEARCH_DOMAINS,
  searchPathQuestions,
  WORKLOADS,
} from './workloads.js';
import { soonAsDnsmasq } from './workload.js';

const METRICS: Metrics = {
  ...NO_METRICS,
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

  it('look names up along the search path: those that do not exist, then the name', () => {
    const questions = searchPathQuestions(20, SEARCH_DOMAINS.cloud);
    const asked = questions.map(({ name, type }) => `${name} ${type}`);
    expect(asked.filter((text) => text.endsWith(' A')).slice(0, 5)).toEqual([
      'host-0.example.team-000.svc.cluster.local A',
      'host-0.example.svc.cluster.local A',
      'host-0.example.cluster.local A',
      'host-0.example.region.compute.internal A',
      'host-0.example A',
    ]);
    expect(asked.filter((text) => text.endsWith(' AAAA'))).toHaveLength(10);
    expect(new Set(asked).size).toBe(20);
    expect(searchPathQuestions(8, SEARCH_DOMAINS.cluster).map(({ name }) => name)[6]).toBe(
      'host-0.example',
    );
  });
});

describe('the bars', () => {
  it('are ratios to dnsmasq', () => {
    const trial = '4 sockets, one length';
    const ours = score(OUR_DNSMASQ, { queriesPerSecond: 140, cpuUs: 1.5, p999Ms: 0.5 }, trial);
    const echo = score('batch echo', { cpuUs: 1 }, trial);
    const coredns = score(COREDNS, { cpuUs: 6 }, trial);
    const dnsmasq = score(DNSMASQ, { p999Ms: 0.4 }, trial);
    const judged = HITS.judge(new ScoreLog([ours, dnsmasq, coredns, echo]));
    expect(judged.slice(0, 3)).toMatchObject([
      { value: 1.4, unit: '×', bar: { atLeast: 1.3 } },
      { value: 0.5, unit: '×', bar: { atMost: 0.75 } },
      { value: 1.5, unit: '×', bar: { atMost: 1.2 } },
    ]);
    expect(judged.slice(-2)).toMatchObject([
      { value: 4, unit: '×', bar: { atLeast: 2.4 } },
      { value: 0.5, unit: 'ms', bar: { atMost: 0.4 } },
    ]);
  });

  it('of misses are ratios per CPU second, to two echoes, and what the server behind may cost', () => {
    const scores = [
      score(OUR_DNSMASQ, { cpuUs: 4, behindUs: 3 }),
      score(DNSMASQ, { cpuUs: 8 }),
      score('batch echo', { cpuUs: 2 }),
    ];
    expect(MISSES_ZONE.judge(new ScoreLog(scores))).toMatchObject([
      { value: 2, bar: { atLeast: 3 } },
      { value: 3, unit: 'µs', bar: { atMost: 4 } },
    ]);
    expect(MISSES_OUTSIDE.judge(new ScoreLog(scores))).toMatchObject([
      { value: 1, bar: { atMost: 1.25 } },
      { value: 2, bar: { atLeast: 2 } },
    ]);
  });

  it('of the search path are ratios to dnsmasq, to CoreDNS and to plain hits', () => {
    const lookups = 'search path';
    const scores = [
      score(OUR_DNSMASQ, { queriesPerSecond: 130, cpuUs: 2 }, lookups),
      score(OUR_DNSMASQ, { cpuUs: 1.6 }, 'plain hits'),
      score(DNSMASQ, {}, lookups),
      score(COREDNS, { cpuUs: 9 }, lookups),
    ];
    expect(POD.judge(new ScoreLog(scores))).toMatchObject([
      { value: 1.3, bar: { atLeast: 1.2 } },
      { value: 1.25, bar: { atMost: 1.1 } },
      { value: 4.5, bar: { atLeast: 2.4 } },
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
