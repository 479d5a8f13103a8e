import { describe, expect, it } from '@jest/globals';
import { NO_METRICS, type Score } from './contest.js';
import { ScoreLog } from './score-log.js';

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
