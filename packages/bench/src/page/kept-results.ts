import { readFileSync } from 'node:fs';
import { type Bar, type Machine, MeasureError } from '@kube-dns/testkit';
import { type Metrics, NO_METRICS, type Score } from '../load/contest.js';
import { ScoreLog } from '../load/score-log.js';
import type { SeriesResult } from '../load/series.js';

/** A figure as the JSON of a report has it; null: it could not be measured. */
interface KeptFigure {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly bar?: Bar;
  readonly spread?: { readonly min: number | null; readonly max: number | null };
}

/** The commands whose reports can be on a page. */
const KEPT_COMMANDS = ['dns', 'dnsmasq-load', 'kubedns-scale'];

/** What the JSON of their reports has. */
export interface KeptReport {
  readonly command: string;
  readonly machine: Machine;
  readonly options: Readonly<Record<string, unknown>>;
  /** By the title of its table: the scores of a trial, or the figures of a part. */
  readonly results?: Readonly<
    Record<string, readonly Score[] | Readonly<Record<string, SeriesResult>>>
  >;
  readonly figures: readonly KeptFigure[];
  readonly notes: readonly string[];
}

/** Reads a file that `--json` of one of these commands has written; throws a MeasureError for another. */
export function readKept(path: string): KeptReport {
  let report: KeptReport;
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as KeptReport;
  } catch (cause) {
    throw new MeasureError(`${path} cannot be read as JSON`, { cause });
  }
  if (KEPT_COMMANDS.includes(report.command)) return report;
  throw new MeasureError(`${path} was not written by --json of ${KEPT_COMMANDS.join(', ')}`);
}

/** The results of several reports; of the same table that of the last report. */
export class KeptResults {
  readonly reports: readonly KeptReport[];
  readonly logs = new Map<string, ScoreLog>();
  readonly parts = new Map<string, Readonly<Record<string, SeriesResult>>>();
  readonly figures = new Map<string, KeptFigure>();

  constructor(reports: readonly KeptReport[]) {
    this.reports = reports;
    for (const { command, results = {}, figures } of reports) {
      for (const [title, result] of Object.entries(results)) this.#add(title, result);
      const prefix = command === 'dns' ? '' : `${command}: `;
      for (const figure of figures.filter(({ bar }) => bar !== undefined)) {
        const name = `${prefix}${figure.name}`;
        this.figures.set(name, { ...figure, name });
      }
    }
  }

  #add(title: string, result: NonNullable<KeptReport['results']>[string]): void {
    if (isScores(result)) this.logs.set(title, new ScoreLog(result.map(withoutNulls)));
    else this.parts.set(title, result);
  }
}

function isScores(result: NonNullable<KeptReport['results']>[string]): result is readonly Score[] {
  return Array.isArray(result);
}

/** JSON has null where a figure was NaN. */
function withoutNulls(score: Score): Score {
  const known = Object.entries(score.metrics).filter(([, value]) => (value as unknown) !== null);
  return {
    ...score,
    metrics: { ...NO_METRICS, ...(Object.fromEntries(known) as Partial<Metrics>) },
  };
}
