import { formatTable } from './table.js';
import type { Machine } from './machine.js';

/** What a figure is held against. */
export interface Bar {
  readonly atMost: number;
}

/** One figure of a report. `value` is NaN where nothing could be measured. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bar?: Bar;
}

/** Everything that a command measured, in the order in which it is told. */
export class Report {
  readonly #command: string;
  readonly #machine: Machine;
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #figures: Figure[] = [];
  readonly #notes: string[] = [];

  constructor(command: string, machine: Machine, options: Readonly<Record<string, unknown>>) {
    this.#command = command;
    this.#machine = machine;
    this.#options = options;
  }

  add(name: string, value: number, unit: string, atMost?: number): void {
    this.#figures.push({ name, value, unit, ...(atMost !== undefined && { bar: { atMost } }) });
  }

  /** A sentence below the table. */
  note(text: string): void {
    this.#notes.push(text);
  }

  /** The figures that miss their bar; one that could not be measured misses it too. */
  get missed(): readonly Figure[] {
    return this.#figures.filter((figure) => verdictOf(figure) === 'over');
  }

  toText(): string {
    const machine = Object.entries(this.#machine).map(([name, value]) => [name, String(value)]);
    const rows = this.#figures.map((figure) => [
      figure.name,
      formatValue(figure.value),
      figure.unit,
      figure.bar ? `<= ${formatValue(figure.bar.atMost)}` : '',
      verdictOf(figure),
    ]);
    const table = formatTable([['', '', '', 'bar', ''], ...rows], [1, 3]);
    const notes = this.#notes.map((text) => `${text}\n`).join('');
    return `${this.#command}\n\n${formatTable(machine, [])}\n${table}${notes && `\n${notes}`}`;
  }

  toJSON(): object {
    return {
      command: this.#command,
      machine: this.#machine,
      options: this.#options,
      figures: this.#figures.map((figure) => ({ ...figure, verdict: verdictOf(figure) })),
      notes: this.#notes,
    };
  }
}

function verdictOf({ value, bar }: Figure): 'ok' | 'over' | '' {
  if (bar === undefined) return '';
  return value <= bar.atMost ? 'ok' : 'over';
}

function formatValue(value: number): string {
  if (Number.isNaN(value)) return '-';
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(value < 10 ? 2 : 1);
}
