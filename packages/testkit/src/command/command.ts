import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  errorText,
  hint,
  type Options,
  type OptionValues,
  parseOptions,
  textOption,
  UsageError,
  wordsOption,
} from '@kube-dns/base';
import { CommandError } from '../errors.js';
import { Owned } from '../owned.js';
import { Report, describeMachine } from '../report/report.js';

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

/** The options of every program that starts the containers and reports on them: each has the flags of its own image. */
export const PROGRAM_OPTIONS = {
  node: textOption(process.execPath, 'PATH', 'Node that runs the containers'),
  'node-flags': wordsOption([], 'flags of this Node, after those of the images'),
  json: textOption('', 'FILE', 'also write the figures to this file'),
} satisfies Options;

/** The values of `PROGRAM_OPTIONS`. */
export type ProgramValues = OptionValues<typeof PROGRAM_OPTIONS>;

const EXIT_MISSED = 1;
const EXIT_USAGE = 2;

/** Runs a command and prints its report; returns the exit status. Closes `owned`. */
async function measure<T extends Options>(
  command: Command<T>,
  values: OptionValues<T>,
  { owned, progress }: { readonly owned: Owned; readonly progress: (text: string) => void },
): Promise<number> {
  // Every command has these options; a measurement also has `strict`.
  const { node, json, strict } = values as unknown as ProgramValues & { readonly strict?: boolean };
  const isStrict = command.isStrict ?? strict === true;
  const report = new Report(command.name, await describeMachine(node), values);
  try {
    await command.run(values, { report, owned, progress });
  } finally {
    await owned.close();
  }
  process.stdout.write(command.format === 'markdown' ? report.toMarkdown() : report.toText());
  if (json !== '') writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`);
  for (const { name } of report.missed) progress(`missed: ${name}`);
  return isStrict && report.missed.length > 0 ? EXIT_MISSED : 0;
}

/** SIGHUP: the terminal was closed. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
/** An interrupted command may still have a start in progress: what comes of it is ended, too. */
const SETTLE_MS = 1_000;

/** One of the commands of a program, with any options. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** Returns the exit status. */
  readonly run: (args: readonly string[], call: CommandCall) => Promise<number>;
}

/** The program whose command is run, and the owner of what it starts. */
interface CommandCall {
  readonly program: string;
  readonly owned: Owned;
}

/** A command as `runCommandLine` takes it: parses the options, prints the report. */
export function commandEntry<T extends Options>(command: Command<T>): CommandEntry {
  const { name, summary, options } = command;
  return {
    name,
    summary,
    run: async (args, { program, owned }) => {
      const whole = `${program} ${name}`;
      const given = parseOptions(args, options, whole);
      if (given === 'help') {
        process.stdout.write(`Usage: ${whole} [options]\n\n${summary}\n\n`);
        process.stdout.write(describeOptions(options));
        return 0;
      }
      return measure(command, given.values, { owned, progress: progressOf(program) });
    },
  };
}

/** The help text of a command's options. */
export function describeOptions(options: Options): string {
  const rows = Object.entries(options).map(([name, { value, help, initial, initialText }]) => {
    const flag = `--${name}${value === '' ? '' : `=${value}`}`;
    return `  ${flag.padEnd(24)}${help}${defaultText(initialText ?? initial)}\n`;
  });
  return rows.join('');
}

function defaultText(initial: unknown): string {
  const text: unknown = Array.isArray(initial) ? initial.join(' ') : initial;
  const hasDefault = typeof text === 'number' || (typeof text === 'string' && text !== '');
  return hasDefault ? ` (default ${text})` : '';
}

/** Runs the command that the arguments of this process name, and sets the exit status. */
export function runCommandLine(program: string, commands: readonly CommandEntry[]): void {
  const owned = new Owned();
  // A reader that closes the pipe (`… --help | head -1`) is no reason for a stack trace.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let isInterrupted = false;
  for (const [signal, status] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      if (isInterrupted) return;
      isInterrupted = true;
      void endInterrupted(owned, running).finally(() => process.exit(status));
    });
  }
  const running = runNamed(commands, process.argv.slice(2), { program, owned });
  running.then(
    (status) => (process.exitCode = status),
    (error: unknown) => {
      // An interrupted command also fails; the status of the signal is enough.
      if (!isInterrupted) process.exitCode = fail(program, error);
    },
  );
}

/** Ends what was started, and what is added until the command has noticed that. */
async function endInterrupted(owned: Owned, running: Promise<unknown>): Promise<void> {
  await owned.close();
  await Promise.race([running.catch(() => undefined), delay(SETTLE_MS)]);
  await owned.close();
}

async function runNamed(
  commands: readonly CommandEntry[],
  [name, ...args]: readonly string[],
  call: CommandCall,
): Promise<number> {
  const { program } = call;
  if (name === '--help' || name === '-h') {
    process.stdout.write(usage(program, commands));
    return 0;
  }
  const command = commands.find((each) => each.name === name);
  if (command) return command.run(args, call);
  const names = commands.map((each) => each.name);
  if (name !== undefined) throw new UsageError(`no command "${name}"${hint(name, names, program)}`);
  throw new UsageError(`no command: ${names.join(', ')}; see ${program} --help`);
}

function usage(program: string, commands: readonly CommandEntry[]): string {
  const rows = commands.map(({ name, summary }) => `  ${name.padEnd(18)}${summary}\n`);
  return `Usage: ${program} COMMAND [options]\n       ${program} COMMAND --help\n\n${rows.join('')}`;
}

function fail(program: string, error: unknown): number {
  process.stderr.write(`${program}: ${errorText(error)}\n`);
  if (error instanceof UsageError) return EXIT_USAGE;
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`);
  return 1;
}

function progressOf(program: string): (text: string) => void {
  return (text) => process.stderr.write(`${program}: ${text}\n`);
}
