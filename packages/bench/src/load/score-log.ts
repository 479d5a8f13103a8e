import { type Range, rangeOf } from '@kube-dns/testkit';
import type { MetricName, Score } from './contest.js';

/** The scores of a contest, looked up. */
export class ScoreLog {
  readonly scores: readonly Score[];

  constructor(scores: readonly Score[]) {
    this.scores = scores;
  }

  has(subject: string): boolean {
    return this.scores.some((score) => score.subject === subject);
  }

  /** One figure over all runs; NaN where no run has it. */
  range(metric: MetricName, subject: string, trial: string): Range {
    return rangeOf(this.#of(subject, trial).map(({ metrics }) => metrics[metric]));
  }

  median(metric: MetricName, subject: string, trial: string): number {
    return this.range(metric, subject, trial).median;
  }

  /** The figure of one subject over that of another, run by run. */
  ratio(metric: MetricName, subject: string, to: string, trial: string): Range {
    return this.#ratio(metric, this.#of(subject, trial), this.#of(to, trial));
  }

  /** The figure of a subject in one trial over its own in another, run by run. */
  ratioOfTrials(metric: MetricName, subject: string, trial: string, to: string): Range {
    return this.#ratio(metric, this.#of(subject, trial), this.#of(subject, to));
  }

  #of(subject: string, trial: string): readonly Score[] {
    return this.scores.filter((score) => score.subject === subject && score.trial === trial);
  }

  #ratio(metric: MetricName, above: readonly Score[], below: readonly Score[]): Range {
    const ratios = above.map(({ run, metrics }) => {
      const other = below.find((score) => score.run === run);
      return metrics[metric] / (other?.metrics[metric] ?? Number.NaN);
    });
    return rangeOf(ratios);
  }
}
