import { parseArgs } from 'node:util';
import { errorText, UsageError } from './errors.js';
import { wrongValue } from './flags.js';
import { hint } from './hint.js';
import { quote, shownUrl } from './text.js';

/** One option of a command: how its text becomes a value, its row in the help, and how a shell completes it. */
export interface Option<T> {
  readonly initial: T;
  /** The initial value as the help shows it. */
  readonly initialText?: string;
  /** The name of its value in the help; empty for a switch. `FILE` is completed with the names of files. */
  readonly value: string;
  readonly help: string;
  /** The letter behind a single dash. */
  readonly short?: string;
  /** The values that a shell offers. */
  readonly choices?: readonly string[];
  /** Each use adds to the value; of other options the last use counts. */
  readonly isList?: boolean;
  /** What `--name=` lacks: `a file`. Without this `parse` gets the empty text. */
  readonly needs?: string;
  /** Throws an Error with the reason; a UsageError is the whole complaint. */
  parse(text: string, previous: T): T;
}

/** The options of a command by name, in the order of its help. */
export type Options = Readonly<Record<string, Option<unknown>>>;

/** The values of a command's options. */
export type OptionValues<T extends Options> = { readonly [K in keyof T]: T[K]['initial'] };

interface NumberRange {
  readonly min?: number;
  readonly max?: number;
  readonly isWhole?: boolean;
}

/** A number in decimals, with both ends of its range included. */
export function numberOption(
  initial: number,
  help: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER, isWhole = true }: NumberRange = {},
): Option<number> {
  const parse = (text: string) => {
    const value = Number(text);
    const isNumber =
      text.trim() !== '' && (isWhole ? Number.isInteger(value) : !Number.isNaN(value));
    if (isNumber && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw new Error(`is not a ${isWhole ? 'whole ' : ''}number ${range}`);
  };
  return { initial, value: 'N', help, parse };
}

/** Numbers as those of {@link numberOption}, separated by commas. */
export function numbersOption(
  initial: readonly number[],
  help: string,
  range?: NumberRange,
): Option<readonly number[]> {
  const one = numberOption(0, help, range);
  const parseOne = (text: string) => {
    try {
      return one.parse(text, 0);
    } catch (cause) {
      throw new Error(`"${text}" ${errorText(cause)}`, { cause });
    }
  };
  const parseAll = (text: string) => text.split(',').map(parseOne);
  return { initial, initialText: initial.join(','), value: 'N,…', help, parse: parseAll };
}

export function textOption(initial: string, value: string, help: string): Option<string> {
  return { initial, value, help, parse: (text) => text };
}

/** Words separated by spaces. */
export function wordsOption(initial: readonly string[], help: string): Option<readonly string[]> {
  const parse = (text: string) => text.split(' ').filter((word) => word !== '');
  return { initial, value: "'WORDS'", help, parse };
}

/** Names separated by commas. */
export function namesOption(initial: readonly string[], help: string): Option<readonly string[]> {
  const parse = (text: string) => text.split(',');
  return { initial, initialText: initial.join(','), value: 'NAME,…', help, parse };
}

/** Some of these names, separated by commas; all of them unless it is given. */
export function partsOption<T extends string>(
  all: readonly T[],
  help: string,
): Option<readonly T[]> {
  const isKnown = (name: string): name is T => all.some((each) => each === name);
  const parse = (text: string) =>
    text.split(',').map((name) => {
      if (isKnown(name)) return name;
      throw new Error(`"${name}" is none of ${all.join(', ')}`);
    });
  return { initial: all, initialText: all.join(','), value: 'NAME,…', help, parse };
}

export function switchOption(help: string): Option<boolean> {
  return { initial: false, value: '', help, parse: () => true };
}

/** An option that is undefined unless it is given; without `parse` its text is its value. */
export function optional(value: string, help: string): Option<string | undefined>;
export function optional<T>(
  value: string,
  help: string,
  parse: (text: string) => T,
): Option<T | undefined>;
export function optional(
  value: string,
  help: string,
  parse: (text: string) => unknown = (text) => text,
): Option<unknown> {
  return { initial: undefined, value, help, parse };
}

/** An option whose default is written as a user writes it. */
export function preset<T>(
  initialText: string,
  value: string,
  help: string,
  parse: (text: string) => T,
): Option<T> {
  return { initial: parse(initialText), initialText, value, help, parse };
}

/** An option that may be repeated; each use adds what `parse` makes of its text. */
export function repeatable<T>(
  value: string,
  help: string,
  parse: (text: string) => T,
): Option<readonly T[]> {
  return {
    initial: [],
    value,
    help,
    isList: true,
    parse: (text, previous) => [...previous, parse(text)],
  };
}

/** What a command line has. */
export interface GivenOptions<T extends Options> {
  readonly values: OptionValues<T>;
  readonly isGiven: (name: keyof T & string) => boolean;
  /** What is no option and no value of one. */
  readonly operands: readonly string[];
}

interface Grammar {
  /** How many operands there may be; by default none. */
  readonly operands?: number;
  /** Writes the complaint about a value; by default `--name=text: reason`. */
  readonly complain?: (name: string, text: string, reason: string) => UsageError;
}

/**
 * Reads the arguments of a command as GNU's getopt_long does: `--name=VALUE`, `--name VALUE`, `-n`, options and operands
 * mixed, `--` ends options; a value that begins with a dash needs `=`. 'help' for `--help` and `-h`, which every
 * command has. Throws a UsageError that names `program`.
 */
export function parseOptions<T extends Options>(
  args: readonly string[],
  options: T,
  program: string,
  { operands: maxOperands = 0, complain = wrongValue }: Grammar = {},
): GivenOptions<T> | 'help' {
  const known: Readonly<Record<string, { type: 'string' | 'boolean'; short?: string }>> = {
    ...Object.fromEntries(Object.entries(options).map(([name, each]) => [name, shapeOf(each)])),
    help: { type: 'boolean', short: 'h' },
  };
  const names = Object.keys(known).map((name) => `--${name}`);
  const operands: string[] = [];
  const texts: [string, string][] = [];
  const { tokens } = parseArgs({ args: [...args], options: known, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    if (!Object.hasOwn(known, name)) {
      throw new UsageError(`unknown flag ${rawName}${hint(rawName, names, program)}`);
    }
    if (known[name]!.type === 'boolean') {
      if (value !== undefined)
        throw new UsageError(`${rawName}=${shownUrl(value)}: this flag takes no value`);
    } else if (value === undefined || (!inlineValue && /^-./.test(value))) {
      throw new UsageError(`${rawName} needs a value${dashAdvice(rawName, value)}`);
    }
    texts.push([name, value ?? '']);
  }
  const given = new Set(texts.map(([name]) => name));
  if (given.has('help')) return 'help';
  if (operands.length > maxOperands) {
    throw new UsageError(`${quote(operands[maxOperands]!)} is one argument too many`);
  }
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    values[name] = option.initial;
    const own = texts.filter(([each]) => each === name).map(([, text]) => text);
    for (const text of option.isList === true ? own : own.slice(-1)) {
      if (text === '' && option.needs !== undefined) {
        throw new UsageError(`--${name} needs ${option.needs}`);
      }
      try {
        values[name] = option.parse(text, values[name]);
      } catch (error) {
        throw error instanceof UsageError ? error : complain(name, text, errorText(error));
      }
    }
  }
  // Each name of the table has the value of its option.
  return { values: values as OptionValues<T>, isGiven: (name) => given.has(name), operands };
}

function shapeOf({ value, short }: Option<unknown>) {
  const type = value === '' ? ('boolean' as const) : ('string' as const);
  return short === undefined ? { type } : { type, short };
}

/** A value that begins with a dash is read as a flag unless it is written behind `=`. */
function dashAdvice(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  const shown = shownUrl(value);
  return `; is it ${shown}? Then write ${name}=${shown}`;
}
