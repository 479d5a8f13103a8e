import type { Commands, Operand } from '../command.js';
import type { Flag, FlagTable } from '../flag-table.js';

/** What a completion script is made from. */
export interface ProgramWords {
  readonly commands: Commands;
  /** The flags before a command. */
  readonly flags: FlagTable;
}

/** What follows a flag, or is an operand: nothing that is known, a file, or one of these words. */
export type ValueWords = 'unknown' | 'file' | readonly string[];

/** What may be typed as this value. */
export function valueWords({ value, choices }: Operand): ValueWords {
  if (choices !== undefined) return choices;
  return value === 'FILE' ? 'file' : 'unknown';
}

/** As they are typed. The short ones are not worth a place in a list. */
export function flagWords(flags: FlagTable): string[] {
  return Object.keys(flags).map((name) => `--${name}`);
}

/** The first clause of the text of a flag. */
export function clause({ text }: Pick<Flag, 'text'>): string {
  return text.split(/[;\n]/, 1)[0] ?? '';
}

/** A word in single quotes, which bash, zsh and fish read alike. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}
