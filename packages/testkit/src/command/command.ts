import type { Owned } from '../owned.js';
import type { Report } from '../report/report.js';
import { type Options, type OptionValues, textOption, wordsOption } from './command-options.js';

/** What a command works with besides its options. */
export interface CommandContext {
  readonly report: Report;
  /** Whatever is started goes in here. */
  readonly owned: Owned;
  /** Says on stderr what is going on. */
  readonly progress: (text: string) => void;
}

/** A measurement that can be asked for by name. */
export interface Command<T extends Options> {
  readonly name: string;
  readonly summary: string;
  readonly options: T;
  /** How the report is printed; as text unless said otherwise. */
  readonly format?: 'text' | 'markdown';
  /** Whether a missed bar ends it with 1; unless said otherwise its option `--strict` says so. */
  readonly isStrict?: boolean;
  /** Measures and fills the report. Throws a MeasureError when that cannot be done. */
  readonly run: (values: OptionValues<T>, context: CommandContext) => Promise<void>;
}

/** The options of every program that starts the containers and reports on them. */
export const PROGRAM_OPTIONS = {
  node: textOption(process.execPath, 'PATH', 'Node that runs the containers'),
  'node-flags': wordsOption(
    ['--max-semi-space-size=4', '--no-maglev'],
    'its flags, as the images have them',
  ),
  json: textOption('', 'FILE', 'write the figures to this file, too'),
} satisfies Options;

/** What every program was told. */
export type ProgramValues = OptionValues<typeof PROGRAM_OPTIONS>;
