import type { Flag, FlagTable } from './flag-table.js';

/** What a command takes that is no flag; completed as the value of a flag is. */
export type Operand = Pick<Flag, 'value' | 'choices'>;

/** A command of `kube-dns`; help and completion are made from this. */
export interface Command {
  readonly summary: string;
  readonly flags: FlagTable;
  readonly operand?: Operand;
  /** Gives the status of the process. */
  readonly run: (args: readonly string[], repository: string) => number | Promise<number>;
}

/** The commands of the program, by name, in the order of its usage. */
export type Commands = ReadonlyMap<string, Command>;
