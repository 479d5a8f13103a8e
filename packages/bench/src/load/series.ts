import { type Bar, rangeOf, type Report, type Section } from '@kube-dns/testkit';
import { formatRange } from './score-table.js';

/** A figure without its values. */
export interface FigureKind {
  readonly unit: string;
  readonly digits?: number;
  readonly bar?: Bar;
  /** Which value of the runs is compared with the bar; default: the median. */
  readonly judged?: 'max' | 'median';
}

/** A figure with the values of all runs, as JSON has it; null: unknown. */
export interface SeriesResult {
  readonly unit: string;
  readonly digits: number;
  readonly values: readonly (number | null)[];
}

/** Figures of several runs, in the order in which they were first added. */
export class Series {
  readonly #kinds = new Map<string, FigureKind>();
  readonly #values = new Map<string, number[]>();

  add(name: string, value: number, kind: FigureKind): void {
    this.#kinds.set(name, kind);
    const values = this.#values.get(name);
    if (values) values.push(value);
    else this.#values.set(name, [value]);
  }

  /** All of them in one table, and those with a bar beside it. */
  addTo(report: Report, title: string): void {
    const section: Section = { title, header: ['', 'median (min…max)', ''], rows: this.#rows() };
    const results = [...this.#kinds].map(([name, { unit, digits = 0 }]) => {
      const result: SeriesResult = { unit, digits, values: this.#values.get(name)! };
      return [name, result] as const;
    });
    report.addSection(section, Object.fromEntries(results));
    for (const [name, { unit, bar, judged = 'median' }] of this.#kinds) {
      const range = rangeOf(this.#values.get(name)!);
      if (bar) report.add(name, range[judged], unit, bar, range);
    }
  }

  #rows(): readonly (readonly string[])[] {
    return [...this.#kinds].map(([name, { unit, digits = 0 }]) => {
      return [name, formatRange(rangeOf(this.#values.get(name)!), digits), unit];
    });
  }
}
