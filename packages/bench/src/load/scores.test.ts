import { describe, expect, it } from '@jest/globals';
import { type Machine, Report } from '@kube-dns/testkit';
import {
  formatRange,
  type Metrics,
  NO_METRICS,
  type Score,
  ScoreLog,
  scoreSection,
  Series,
} from './scores.js';

function scores(subject: string, trial: string, ...rates: readonly number[]): Score[] {
  return rates.map((queriesPerSecond, i) => ({
    subject,
    trial,
    run: i + 1,
    metrics: { ...NO_METRICS, queriesPerSecond },
  }));
}

const LOG = new ScoreLog([
  ...scores('ours', 'plain', 300, 200, 100),
  ...scores('ours', 'mixed', 270, 190, 80),
  ...scores('dnsmasq', 'plain', 100, 100, 100),
]);

describe('a log of scores', () => {
  it('has the range of a figure', () => {
    expect(LOG.range('queriesPerSecond', 'ours', 'plain')).toEqual({
      min: 100,
      median: 200,
      max: 300,
    });
    expect(LOG.median('p99Ms', 'ours', 'plain')).toBeNaN();
  });

  it('compares subjects run by run, and not the one’s best with the other’s worst', () => {
    const ratio = LOG.ratio('queriesPerSecond', 'ours', 'dnsmasq', 'plain');
    expect(ratio).toEqual({ min: 1, median: 2, max: 3 });
  });

  it('compares trials of one subject', () => {
    const { min, median, max } = LOG.ratioOfTrials('queriesPerSecond', 'ours', 'mixed', 'plain');
    expect([min, median, max]).toEqual([0.8, 0.9, 0.95]);
  });

  it('has the subjects that took part, and no others', () => {
    expect([LOG.has('dnsmasq'), LOG.has('coredns')]).toEqual([true, false]);
    expect(LOG.ratio('queriesPerSecond', 'ours', 'coredns', 'plain').median).toBeNaN();
  });
});

const METRICS: Metrics = {
  ...NO_METRICS,
  queriesPerSecond: 100_000,
  userUs: 1.234,
  systemUs: 2,
  cpuUs: 3.234,
  p50Ms: 0.0456,
  p99Ms: NaN,
  singleUs: 61.4,
  answeredPercent: 99.987,
  wrong: 0,
  answerBytes: 70,
  rssMib: 60.3,
};

function score(subject: string, run: number, queriesPerSecond: number): Score {
  return { subject, trial: 'A', run, metrics: { ...METRICS, queriesPerSecond } };
}

describe('a range', () => {
  it('has its ends where runs differ', () => {
    expect(formatRange({ min: 1, median: 2, max: 3.456 }, 2)).toBe('2.00 (1.00…3.46)');
    expect(formatRange({ min: 1.001, median: 1.002, max: 1.003 }, 2)).toBe('1.00');
    expect(formatRange({ min: NaN, median: NaN, max: NaN }, 2)).toBe('-');
  });
});

describe('the table of a contest', () => {
  const ours = [score('ours', 1, 300_000), score('ours', 2, 100_000)];

  it('has a row for each server, with its ratio to dnsmasq', () => {
    const log = new ScoreLog([...ours, score('dnsmasq', 1, 200_000), score('dnsmasq', 2, 50_000)]);
    const { title, header, rows } = scoreSection('hits', 'A', log, 'dnsmasq');
    expect(title).toBe('hits');
    expect(header.slice(0, 4)).toEqual(['server', 'queries/s', '/ dnsmasq', 'user µs']);
    expect(rows.map((row) => row.slice(0, 4))).toEqual([
      ['ours', '200000 (100000…300000)', '1.75 (1.50…2.00)', '1.23'],
      ['dnsmasq', '125000 (50000…200000)', '1.00', '1.23'],
    ]);
    expect(rows[0]).toHaveLength(header.length);
    expect(rows[0]!.slice(5)).toEqual([
      '0.046',
      '-',
      '-',
      '-',
      '-',
      '61',
      '99.99',
      '0',
      '70',
      '60',
    ]);
  });

  it('has the CPU time as a multiple of that of the echo in the same run', () => {
    const cpu = (subject: string, run: number, cpuUs: number): Score => ({
      subject,
      trial: 'A',
      run,
      metrics: { ...METRICS, cpuUs },
    });
    const echo = [cpu('batch echo', 1, 4), cpu('batch echo', 2, 5)];
    const log = new ScoreLog([cpu('ours', 1, 6), cpu('ours', 2, 10), ...echo]);
    const { header, rows } = scoreSection('hits', 'A', log, 'dnsmasq');
    const column = header.indexOf('CPU × echo');
    expect(rows.map((row) => row[column])).toEqual(['1.75 (1.50…2.00)', '1.00']);
  });

  it('has the CPU time of what is asked, and of both, where it is known', () => {
    const [first] = ours;
    const behind = { ...first!, metrics: { ...METRICS, behindUs: 4, togetherUs: 7.2 } };
    const { header, rows } = scoreSection('misses', 'A', new ScoreLog([behind]), 'dnsmasq');
    const at = header.indexOf('behind it µs');
    expect(rows[0]!.slice(at, at + 2)).toEqual(['4.00', '7.20']);
    expect(header[at + 1]).toBe('together µs');
    expect(scoreSection('hits', 'A', new ScoreLog(ours), '').header).not.toContain('behind it µs');
  });

  it('has no ratios without dnsmasq', () => {
    const { header, rows } = scoreSection('hits', 'A', new ScoreLog(ours), 'dnsmasq');
    expect(header).not.toContain('/ dnsmasq');
    expect(rows[0]).toHaveLength(header.length);
  });
});

describe('a series of runs', () => {
  it('has medians, and compares the median or the worst run with a bar', () => {
    const report = new Report('x', {} as Machine, {});
    const series = new Series();
    for (const value of [0, 0, 1]) {
      series.add('unanswered', value, { unit: '', judged: 'max', bar: { atMost: 0 } });
      series.add('memory', 19 + value, { unit: 'MiB', digits: 1, bar: { atMost: 19 } });
      series.add('pace', 5, { unit: 'queries/s' });
    }
    series.addTo(report, 'part');
    expect(report.missed.map(({ name, value }) => [name, value])).toEqual([['unanswered', 1]]);
    const text = report.toMarkdown().replaceAll(/ +/g, ' ');
    expect(text).toContain('| unanswered | 0 (0…1) | |');
    expect(text).toContain('| memory | 19.0 (19.0…20.0) | MiB |');
    expect(text).toContain('| pace | 5 | queries/s |');
    expect(text).not.toContain('| pace | 5 queries/s |');
  });
});
