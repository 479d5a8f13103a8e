import { describe, expect, it } from '@jest/globals';
import { type Bar, median } from '@kube-dns/testkit';
import {
  addFindings,
  type ContainerSample,
  growth,
  increase,
  lastThird,
  medianOf,
  type Sample,
} from './findings.js';

function points(values: readonly number[]) {
  return values.map((value, atSeconds) => ({ atSeconds, value }));
}

function over(seconds: number, value: (at: number) => number) {
  return points(Array.from({ length: seconds }, (_, i) => value(i)));
}

describe('a trend', () => {
  it('of a leak is its growth between the first and the last quarter', () => {
    // 100 to 120: the middles of the quarters are 15 apart.
    expect(growth(over(1_000, (i) => 100 + i / 50)) * 100).toBeCloseTo(14.6, 0);
  });

  it('of garbage that comes and goes is none', () => {
    const saw = over(1_000, (i) => 100 + (i % 37));
    expect(Math.abs(growth(saw))).toBeLessThan(0.02);
    const spike = over(1_000, (i) => (i > 980 ? 500 : 100));
    expect(growth(spike)).toBe(0);
  });

  it('counts descriptors that stay open', () => {
    expect(increase(over(100, (i) => 20 + Math.floor(i / 10)))).toBeGreaterThan(6);
    expect(increase(over(100, (i) => 20 + (i % 3)))).toBeLessThan(1);
  });

  it('of a latency is its last third beside the second', () => {
    expect(lastThird(over(300, (i) => (i < 200 ? 2 : 3)))).toBe(1.5);
    expect(lastThird(over(300, (i) => (i < 100 ? 9 : 3)))).toBe(1);
  });

  it('leaves out what could not be measured', () => {
    expect(median([Number.NaN, 3, 1, Number.NaN, 2])).toBe(2);
    expect(median([])).toBeNaN();
    expect(medianOf(points([Number.NaN, 4, 4]), 0, 1)).toBe(4);
  });
});

const BARS = { rssGrowthPercent: 5, p99Ratio: 1.5, lostPercent: 0.01, busy: false };
const MIB = 2 ** 20;
const SECONDS = 400;

const CONTAINER: ContainerSample = {
  rssBytes: 80 * MIB,
  heapBytes: 10 * MIB,
  descriptors: 30,
  resources: 20,
  cpuMs: 0,
  unhandled: 0,
};

interface Change {
  readonly container?: Partial<ContainerSample>;
  readonly answers?: Partial<Sample['answers']>;
  readonly sample?: Partial<Sample>;
}

function sample(atSeconds: number, { container, answers, sample: other }: Change): Sample {
  const kubedns = { ...CONTAINER, cpuMs: atSeconds * 100, ...container };
  return {
    atSeconds,
    seconds: 1,
    containers: { kubedns, dnsmasq: CONTAINER, sidecar: CONTAINER },
    answers: {
      asked: 100,
      right: 100,
      wrong: 0,
      servfails: 0,
      firstTryLost: 0,
      lost: 0,
      p50Ms: 1,
      p99Ms: 4,
      maxMs: 9,
      ownLateP99Ms: 1,
      examples: [],
      ...answers,
    },
    cacheRecords: 900,
    cacheMaxRecords: 1_000,
    cacheEvictions: 5,
    relists: 0,
    configGeneration: 1,
    changes: 1,
    changeMaxLateMs: 3,
    scrapeFailures: 0,
    ...other,
  };
}

/** The names of the figures that a run misses. */
function missed(
  change: (atSeconds: number) => Change,
  { seconds = SECONDS, busy = false } = {},
): readonly string[] {
  const names: string[] = [];
  const samples = Array.from({ length: seconds }, (_, i) => sample(i, change(i)));
  const add = (name: string, value: number, _: string, bar?: Bar | number) => {
    if (bar === undefined) return;
    const held = typeof bar === 'number' ? { atMost: bar } : bar;
    const isMet = 'atMost' in held ? value <= held.atMost : value >= held.atLeast;
    if (!isMet) names.push(name);
  };
  addFindings({ add }, samples, 100, Object.assign({}, BARS, { busy }));
  return names;
}

describe('a run', () => {
  it('in which nothing grows meets every bar', () => {
    expect(missed(() => ({}))).toEqual([]);
  });

  it.each<readonly [string, string, (at: number) => Change]>([
    ['memory', 'kubedns: RSS, growth', (at) => ({ container: { rssBytes: (80 + at / 30) * MIB } })],
    [
      'sockets',
      'kubedns: more descriptors',
      (at) => ({ container: { descriptors: 30 + Math.floor(at / 10) } }),
    ],
    [
      'timers',
      'kubedns: more timers and handles',
      (at) => ({ container: { resources: 20 + Math.floor(at / 10) } }),
    ],
    [
      'errors',
      'kubedns: unhandled errors',
      (at) => ({ container: { unhandled: at > 350 ? 1 : 0 } }),
    ],
    [
      'latency',
      'p99, last third / second third',
      (at) => ({ answers: { p99Ms: at < 300 ? 4 : 7 } }),
    ],
    ['the cache', 'records in the cache, at most', () => ({ sample: { cacheRecords: 1_001 } })],
  ])('in which %s grows has a finding', (_, name, change) => {
    expect(missed(change)).toEqual([name]);
  });

  it('has a finding for one wrong answer, also in the warm-up', () => {
    expect(missed((at) => ({ answers: { wrong: at === 3 ? 1 : 0 } }))).toEqual(['wrong answers']);
  });

  it('has a finding for missing answers', () => {
    expect(missed((at) => ({ answers: { lost: at === 300 ? 50 : 0 } }))).toEqual([
      'without an answer',
    ]);
  });

  it('is judged on a machine with other work only for what is wrong there, too', () => {
    const answers = { lost: 50, servfails: 1, p99Ms: 4 };
    const grows = (at: number) => ({ container: { rssBytes: at * MIB }, answers });
    expect(missed(grows).length).toBeGreaterThan(2);
    expect(missed(grows, { busy: true })).toEqual([]);
    const isWrong = (at: number) => ({ answers: { wrong: at === 3 ? 1 : 0 } });
    expect(missed(isWrong, { busy: true })).toEqual(['wrong answers']);
  });

  it('may use as much memory as it likes while it warms up', () => {
    expect(missed((at) => ({ container: { rssBytes: at < 100 ? at * MIB : 100 * MIB } }))).toEqual(
      [],
    );
  });

  it('with few samples is not checked against bars for which it has no figures', () => {
    const answers = { p99Ms: Number.NaN };
    expect(missed((at) => (at === 102 ? { answers } : {}), { seconds: 103 })).toEqual([]);
  });
});
