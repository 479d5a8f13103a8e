import type { Readable, Writable } from 'node:stream';
import { layOut } from '@kube-dns/base';

/** One flag of a command: what parses it, its row in the usage, and how a shell completes it. */
export interface Flag {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  readonly short?: string;
  /** The name of its value in the usage. `FILE` is completed with the names of files. */
  readonly value?: string;
  readonly initial?: string;
  /** The values that a shell offers. */
  readonly choices?: readonly string[];
  readonly text: string;
}

/** The flags of a command, in the order of its usage. */
export type FlagTable = Readonly<Record<string, Flag>>;

/** The flag that every command has. */
export const HELP_FLAG = { type: 'boolean', short: 'h', text: 'show this text' } as const;

/** A longer name has its text on the next line. */
const MAX_COLUMN = 24;

/** The rows of the flags in a usage, without the last line break. */
export function flagRows(flags: FlagTable): string {
  const rows = Object.entries(flags).map(([name, { short, value, initial, text }]) => {
    const left = `  ${short === undefined ? '' : `-${short}, `}--${name}`;
    return {
      left: value === undefined ? left : `${left} ${value}`,
      text: initial === undefined ? text : `${text} (${initial})`,
    };
  });
  const widest = Math.max(...rows.map(({ left }) => left.length));
  const column = Math.min(widest + 3, MAX_COLUMN);
  return rows.flatMap(({ left, text }) => layOut(left, text, column)).join('\n');
}

/** What a command takes that is no flag; completed as the value of a flag is. */
export type Operand = Pick<Flag, 'value' | 'choices'>;

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
  readonly flags: FlagTable;
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
