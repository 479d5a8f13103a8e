import { type Range, rangeOf } from '@kube-dns/testkit';
import { isEchoName, type MetricName, type Score } from './contest.js';

/** The scores of a contest, looked up. */
export class ScoreLog {
  readonly scores: readonly Score[];

  constructor(scores: readonly Score[]) {
    this.scores = scores;
  }

  has(subject: string): boolean {
    return this.scores.some((score) => score.subject === subject);
  }

  /** Those that had this trial, in the order of the runs. */
  subjectsOf(trial: string): readonly string[] {
    const own = this.scores.filter((score) => score.trial === trial);
    return [...new Set(own.map(({ subject }) => subject))];
  }

  /** The CPU time of a subject over that of the echo, run by run; NaN without an echo. */
  timesEcho(subject: string, trial: string): Range {
    const echo = this.subjectsOf(trial).find(isEchoName);
    return echo === undefined ? rangeOf([]) : this.ratio('cpuUs', subject, echo, trial);
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
