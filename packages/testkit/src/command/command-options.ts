import { parseArguments, UsageError } from '@kube-dns/base';
import { messageOf } from '../errors.js';

/** One option of a command. */
export interface Option<T> {
  readonly initial: T;
  /** The name of its value in the help; empty for a switch. */
  readonly value: string;
  readonly help: string;
  /** Throws an Error with the reason. */
  readonly parse: (text: string) => T;
}

/** The options of a command, by name. */
export type Options = Readonly<Record<string, Option<unknown>>>;

/** The values of a command's options. */
export type OptionValues<T extends Options> = { readonly [K in keyof T]: T[K]['initial'] };

export function numberOption(
  initial: number,
  help: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER, isWhole = true } = {},
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

export function textOption(initial: string, value: string, help: string): Option<string> {
  return { initial, value, help, parse: (text) => text };
}

/** Words separated by spaces. */
export function wordsOption(initial: readonly string[], help: string): Option<readonly string[]> {
  const parse = (text: string) => text.split(' ').filter((word) => word !== '');
  return { initial, value: "'WORDS'", help, parse };
}

export function switchOption(help: string): Option<boolean> {
  return { initial: false, value: '', help, parse: () => true };
}

/**
 * Reads the arguments of a command, which `program` names in complaints. Throws a UsageError; undefined when `--help`
 * is among them.
 */
export function parseOptions<T extends Options>(
  args: readonly string[],
  options: T,
  program: string,
): OptionValues<T> | undefined {
  const flags = Object.entries(options).map(([name, { value }]) => {
    return [name, { type: value === '' ? ('boolean' as const) : ('string' as const) }] as const;
  });
  const help = { type: 'boolean', short: 'h' } as const;
  const config = { args: [...args], options: { ...Object.fromEntries(flags), help } };
  const given: Readonly<Record<string, string | boolean | undefined>> = parseArguments(
    config,
    program,
  ).values;
  if (given.help === true) return undefined;
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    const text = given[name];
    try {
      values[name] = text === undefined ? option.initial : option.parse(String(text));
    } catch (error) {
      throw new UsageError(`--${name}=${text ?? ''}: ${messageOf(error)}`);
    }
  }
  // Each name of the table has the value of its option.
  return values as OptionValues<T>;
}

function initialText(initial: unknown): string {
  const text: unknown = Array.isArray(initial) ? initial.join(' ') : initial;
  const hasDefault = typeof text === 'number' || (typeof text === 'string' && text !== '');
  return hasDefault ? ` (default ${text})` : '';
}

/** The help text of a command's options. */
export function describeOptions(options: Options): string {
  const rows = Object.entries(options).map(([name, { value, help, initial }]) => {
    const flag = `--${name}${value === '' ? '' : `=${value}`}`;
    return `  ${flag.padEnd(24)}${help}${initialText(initial)}\n`;
  });
  return rows.join('');
}
