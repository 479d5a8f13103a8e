import { formatGoDuration, parseGoDuration } from './go-duration.js';
import { MAX_PORT } from './host-port.js';
import { MAX_TIMER_MS } from './timer.js';

/**
 * One flag: how its text becomes a value. `parse` throws to refuse the text; it receives the previous
 * value and whether the flag was given before, so that a repeated flag can replace or accumulate.
 * Methods, not function fields: a table of flags of different types must be one type.
 */
export interface FlagDefinition<T> {
  parse(text: string, previous: T, isSet: boolean): T;
  readonly initial: T;
  readonly help: string;
  /** Represents the value in the usage text: `string`, `int`, `duration`. */
  readonly valueName: string;
  /** `--flag` alone means `--flag=true`, and the next argument is never its value. */
  readonly isBoolean?: boolean;
  readonly isHidden?: boolean;
  /** Each use adds to the value; of other flags the last use counts. */
  readonly isList?: boolean;
  /** The default as the usage text shows it; '' shows none. */
  formatDefault?(initial: T): string;
}

/** A table of flags by name; names are written as users see them. */
export type FlagSpec = Readonly<Record<string, FlagDefinition<unknown>>>;

/** The values of a table of flags: one per name, typed as declared. */
export type FlagValues<S extends FlagSpec> = {
  readonly [K in keyof S]: S[K] extends FlagDefinition<infer T> ? T : never;
};

/** A flag whose text is its value. */
export function stringFlag(
  initial: string,
  help: string,
  valueName = 'string',
): FlagDefinition<string> {
  return {
    parse: (text) => text,
    initial,
    help,
    valueName,
    formatDefault: (value) => (value === '' ? '' : JSON.stringify(value)),
  };
}

// Go's strconv.ParseInt with base 0: a prefix chooses the base, a leading 0 means octal.
const GO_INT = /^([+-]?)(?:0[xX]([\da-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9]\d*))$/;

/** A whole number in any of Go's spellings, optionally limited to a range (both ends included). */
export function intFlag(
  initial: number,
  help: string,
  range: { readonly min?: number; readonly max?: number } = {},
): FlagDefinition<number> {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = range;
  return {
    parse: (text) => {
      const value = parseGoInt(text);
      if (value === undefined || value < min || value > max) throw new Error(rangeText(range));
      return value;
    },
    initial,
    help,
    valueName: 'int',
    formatDefault: (value) => (value === 0 ? '' : String(value)),
  };
}

/** A port to query or to listen on: 0 selects a free port unless `min` forbids it. */
export function portFlag(initial: number, help: string, { min = 0 } = {}): FlagDefinition<number> {
  return intFlag(initial, help, { min, max: MAX_PORT });
}

function parseGoInt(text: string): number | undefined {
  const match = GO_INT.exec(text);
  if (match === null) return undefined;
  const [, sign, hex, binary, octal, decimal] = match;
  const magnitude =
    hex !== undefined
      ? parseInt(hex, 16)
      : binary !== undefined
        ? parseInt(binary, 2)
        : octal !== undefined
          ? parseInt(octal, 8)
          : Number(decimal);
  if (!Number.isSafeInteger(magnitude)) return undefined;
  return sign === '-' && magnitude !== 0 ? -magnitude : magnitude;
}

function rangeText({ min, max }: { readonly min?: number; readonly max?: number }): string {
  const from = min === undefined ? '' : ` from ${min}`;
  return `must be a whole number${from}${max === undefined ? '' : ` to ${max}`}`;
}

/** A switch with the spellings of Go's strconv.ParseBool; `--flag` alone is true. */
export function boolFlag(initial: boolean, help: string): FlagDefinition<boolean> {
  return {
    parse: (text) => parseGoBool(text),
    initial,
    help,
    valueName: '',
    isBoolean: true,
    formatDefault: (value) => (value ? 'true' : ''),
  };
}

/** The spellings of Go's strconv.ParseBool; throws with what is wanted. */
export function parseGoBool(text: string, wanted = 'true or false'): boolean {
  if (/^(?:1|t|T|TRUE|true|True)$/.test(text)) return true;
  if (/^(?:0|f|F|FALSE|false|False)$/.test(text)) return false;
  throw new Error(`must be ${wanted}`);
}

/** A Go duration (`1m0s`, `500ms`) that is not negative; its value is in milliseconds. */
export function durationFlag(initialMs: number, help: string): FlagDefinition<number> {
  return {
    parse: (text) => {
      const ms = parseGoDuration(text);
      if (ms < 0) throw new Error('must not be negative');
      return ms;
    },
    initial: initialMs,
    help,
    valueName: 'duration',
    formatDefault: (value) => (value === 0 ? '' : formatGoDuration(value)),
  };
}

/** The duration of a timer; a longer one is cut to 24 days, the maximum of a timer. */
export function waitFlag(initialMs: number, help: string): FlagDefinition<number> {
  const flag = durationFlag(initialMs, help);
  return {
    ...flag,
    parse: (text, previous, isSet) => Math.min(flag.parse(text, previous, isSet), MAX_TIMER_MS),
  };
}

/** One of several words; those in `later` are refused as not possible yet. */
export function choiceFlag<T extends string>(
  choices: readonly T[],
  initial: T,
  help: string,
  later: readonly string[] = [],
): FlagDefinition<T> {
  return {
    parse: (text) => {
      const choice = choices.find((each) => each === text);
      if (choice !== undefined) return choice;
      const reason = later.includes(text) ? 'not possible yet, ' : '';
      throw new Error(`${reason}must be one of ${choices.join(', ')}`);
    },
    initial,
    help,
    valueName: choices.join('|'),
    formatDefault: JSON.stringify,
  };
}

/** A flag that may be repeated; each use adds one element. */
export function listFlag<T>(
  parse: (text: string) => T,
  help: string,
  valueName = 'string',
): FlagDefinition<readonly T[]> {
  return {
    parse: (text, previous) => [...previous, parse(text)],
    initial: [],
    isList: true,
    help,
    valueName,
    formatDefault: () => '',
  };
}
