import type { Readable, Writable } from 'node:stream';
import {
  type GivenOptions,
  layOut,
  type Option,
  type Options,
  parseOptions,
  switchOption,
  UsageError,
} from '@kube-dns/base';

/** The flag that every command has, with this text in its usage. */
export function helpFlag(help = 'show this text'): Option<boolean> {
  return { ...switchOption(help), short: 'h' };
}

/** Reads the arguments of the command with these flags, and at most so many operands. Throws a UsageError; 'help' for `--help`. */
export function parseCommand<T extends Options>(
  command: string,
  flags: T,
  args: readonly string[],
  operands = 0,
): GivenOptions<T> | 'help' {
  return parseOptions(args, flags, command, { operands, complain: wrongFlag });
}

function wrongFlag(name: string, text: string, reason: string): UsageError {
  return new UsageError(`--${name} ${text}: ${reason}`);
}

/** A longer name has its text on the next line. */
const MAX_COLUMN = 24;

/** The rows of the flags in a usage, without the last line break. */
export function flagRows(flags: Options): string {
  const rows = Object.entries(flags).map(([name, { short, value, initialText, help }]) => {
    const left = `  ${short === undefined ? '' : `-${short}, `}--${name}`;
    return {
      left: value === '' ? left : `${left} ${value}`,
      text: initialText === undefined ? help : `${help} (${initialText})`,
    };
  });
  const widest = Math.max(...rows.map(({ left }) => left.length));
  const column = Math.min(widest + 3, MAX_COLUMN);
  return rows.flatMap(({ left, text }) => layOut(left, text, column)).join('\n');
}

/** What a command takes that is no flag; completed as the value of a flag is. */
export type Operand = Pick<Option<unknown>, 'value' | 'choices'>;

/** An output of a command, which may be a terminal. */
export type Output = Writable & { readonly isTTY?: boolean };

/** What a command reads and writes: the streams of the process, or of a test. */
export interface CommandContext {
  /** The folder of the checkout. */
  readonly repository: string;
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** A command of `kube-dns`; help and completion are made from this. */
export interface Command {
  readonly summary: string;
  readonly flags: Options;
  readonly operand?: Operand;
  /** Gives the status of the process. */
  readonly run: (args: readonly string[], context: CommandContext) => number | Promise<number>;
}

/** The commands of the program, by name, in the order of its usage. */
export type Commands = ReadonlyMap<string, Command>;

/** Resolves when the reader has read everything or has closed the pipe. */
export async function print({ stdout }: CommandContext, text: string): Promise<void> {
  await new Promise((resolve) => stdout.write(text, resolve));
}
