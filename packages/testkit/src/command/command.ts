import type { Owned } from '../owned.js';
import { imageStart } from '../process/dockerfile.js';
import type { Report } from '../report/report.js';
import { type Options, type OptionValues, textOption, wordsOption } from './command-options.js';

/** What a command gets in addition to its options. */
export interface CommandContext {
  readonly report: Report;
  /** Everything that the command starts is added here. */
  readonly owned: Owned;
  /** Writes a line of progress to stderr. */
  readonly progress: (text: string) => void;
}

/** A measurement that is started by name. */
export interface Command<T extends Options> {
  readonly name: string;
  readonly summary: string;
  readonly options: T;
  /** How the report is printed; default: text. */
  readonly format?: 'text' | 'markdown';
  /** Whether it ends with 1 when a bar is missed; default: its option `--strict`. */
  readonly isStrict?: boolean;
  /** Measures and fills the report. Throws a MeasureError when it cannot. */
  readonly run: (values: OptionValues<T>, context: CommandContext) => Promise<void>;
}

/** The options of every program that starts the containers and reports on them. */
export const PROGRAM_OPTIONS = {
  node: textOption(process.execPath, 'PATH', 'Node that runs the containers'),
  'node-flags': wordsOption(
    imageStart('dnsmasq').nodeFlags,
    'flags of this Node; default: those of the images',
  ),
  json: textOption('', 'FILE', 'also write the figures to this file'),
} satisfies Options;

/** The values of `PROGRAM_OPTIONS`. */
export type ProgramValues = OptionValues<typeof PROGRAM_OPTIONS>;
