import type { Readable, Writable } from 'node:stream';
import type { Flag, FlagTable } from './flag-table.js';

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
