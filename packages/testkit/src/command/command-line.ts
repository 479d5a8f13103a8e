import { CommandError, messageOf, UsageError } from '../errors.js';
import { Owned } from '../owned.js';
import { describeOptions, parseOptions, type Options } from './command-options.js';
import type { Command } from './command.js';
import { measure } from './measure.js';

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/** One of the commands of a program, with any options. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** Returns the exit status. */
  readonly run: (program: string, args: readonly string[], owned: Owned) => Promise<number>;
}

/** A command as `runCommandLine` takes it: parses the options, prints the report. */
export function commandEntry<T extends Options>(command: Command<T>): CommandEntry {
  const { name, summary, options } = command;
  return {
    name,
    summary,
    run: async (program, args, owned) => {
      const values = parseOptions(args, options);
      if (values === undefined) {
        process.stdout.write(`usage: ${program} ${name} [options]\n\n${summary}\n\n`);
        process.stdout.write(describeOptions(options));
        return 0;
      }
      return measure(command, values, { owned, progress: progressOf(program) });
    },
  };
}

/** Runs the command that the arguments of this process name, and sets the exit status. */
export function runCommandLine(program: string, commands: readonly CommandEntry[]): void {
  const owned = new Owned();
  let isInterrupted = false;
  for (const [signal, status] of Object.entries(SIGNALS)) {
    process.once(signal, () => {
      isInterrupted = true;
      void owned.close().then(() => process.exit(status));
    });
  }
  runNamed(program, commands, process.argv.slice(2), owned).then(
    (status) => (process.exitCode = status),
    (error: unknown) => {
      // An interrupted command also fails; the status of the signal is enough.
      if (!isInterrupted) process.exitCode = fail(program, commands, error);
    },
  );
}

async function runNamed(
  program: string,
  commands: readonly CommandEntry[],
  [name, ...args]: readonly string[],
  owned: Owned,
): Promise<number> {
  if (name === '--help' || name === '-h') {
    process.stdout.write(usage(program, commands));
    return 0;
  }
  const command = commands.find((each) => each.name === name);
  if (command) return command.run(program, args, owned);
  throw new UsageError(name === undefined ? 'no command' : `no command "${name}"`);
}

function usage(program: string, commands: readonly CommandEntry[]): string {
  const rows = commands.map(({ name, summary }) => `  ${name.padEnd(18)}${summary}\n`);
  return `usage: ${program} COMMAND [options], ${program} COMMAND --help\n\n${rows.join('')}`;
}

function fail(program: string, commands: readonly CommandEntry[], error: unknown): number {
  process.stderr.write(`${program}: ${messageOf(error)}\n`);
  if (error instanceof UsageError) process.stderr.write(usage(program, commands));
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`);
  return 1;
}

function progressOf(program: string): (text: string) => void {
  return (text) => process.stderr.write(`${program}: ${text}\n`);
}
