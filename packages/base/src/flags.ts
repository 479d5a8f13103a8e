import { MAX_TIMER_MS } from './clock.js';
import { errorText, UsageError } from './errors.js';
import { formatGoDuration, parseGoDuration } from './go-duration.js';
import { hint } from './hint.js';
import { MAX_PORT } from './host-port.js';
import { shownUrl } from './text.js';

/** How log lines look: klog's, or JSON as of `k8s.io/component-base` with `--logging-format=json`. */
export const LOG_FORMATS = ['text', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

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
function parseGoBool(text: string, wanted = 'true or false'): boolean {
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

/** Name, version, summary and flags of a program. */
export interface Program<S extends FlagSpec = FlagSpec> {
  readonly name: string;
  readonly version: string;
  /** The usage line; by default `NAME [flags]`. */
  readonly usage?: string;
  readonly summary: string;
  readonly flags: S;
}

/** What the command line requests: to run, or only to print something and exit. */
export type FlagRequest = 'run' | 'help' | 'version' | 'raw-version';

export interface ParsedFlags<S extends FlagSpec> {
  readonly request: FlagRequest;
  readonly values: FlagValues<S>;
  /** Whether the flag was given on the command line. */
  readonly isSet: (name: keyof S & string) => boolean;
  /** The texts of each flag of the command line, by its name in the table. */
  readonly given: ReadonlyMap<string, readonly string[]>;
  readonly positional: readonly string[];
  readonly verbosity: number;
  readonly logFormat: LogFormat;
}

// The logging flags of Go's klog. Old manifests and scripts pass them; nothing here needs them.
const IGNORED_SWITCHES = [
  'logtostderr',
  'alsologtostderr',
  'skip_headers',
  'skip_log_headers',
  'one_output',
  'add_dir_header',
];
const IGNORED_SETTINGS = [
  'stderrthreshold',
  'log_dir',
  'log_file',
  'log_file_max_size',
  'vmodule',
  'log-flush-frequency',
  'log_backtrace_at',
];

const VERSION_FLAG: FlagDefinition<FlagRequest> = {
  parse: (text) => {
    if (text === 'raw') return 'raw-version';
    const isAsked = parseGoBool(text, 'true, false or raw');
    return isAsked ? 'version' : 'run';
  },
  initial: 'run',
  help: 'print the version and exit; raw prints it as a quoted string',
  valueName: 'true|raw',
  isBoolean: true,
  formatDefault: () => '',
};

const LOGGING_FORMAT_FLAG: FlagDefinition<LogFormat> = {
  parse: (text) => {
    const format = LOG_FORMATS.find((each) => each === text);
    if (format === undefined) throw new Error(`must be one of ${LOG_FORMATS.join(', ')}`);
    return format;
  },
  initial: 'text',
  help: 'form of the log lines; json: one object per line, with the fields of Kubernetes components',
  valueName: LOG_FORMATS.join('|'),
  formatDefault: JSON.stringify,
};

/** Flags that are accepted and ignored. */
export const IGNORED_FLAGS: readonly string[] = [...IGNORED_SWITCHES, ...IGNORED_SETTINGS];

/** The flags that every program has in addition to those in its table. */
export const SHARED_FLAGS: FlagSpec = {
  v: intFlag(0, 'log verbosity: 0 is quiet, 2 is what manifests use, 4 and up is for debugging'),
  'logging-format': LOGGING_FORMAT_FLAG,
  version: VERSION_FLAG,
  ...Object.fromEntries(IGNORED_SWITCHES.map((name) => [name, ignored({ isBoolean: true })])),
  ...Object.fromEntries(IGNORED_SETTINGS.map((name) => [name, ignored({ isBoolean: false })])),
};

function ignored({ isBoolean }: { isBoolean: boolean }): FlagDefinition<unknown> {
  return {
    ...(isBoolean ? boolFlag(false, '') : stringFlag('', '')),
    parse: () => undefined,
    isHidden: true,
  };
}

interface FlagState {
  readonly name: string;
  readonly definition: FlagDefinition<unknown>;
  value: unknown;
  /** As on the command line. */
  readonly texts: string[];
}

/**
 * Reads a command line as Go's flag packages do: one or two dashes, `=value` or the next argument,
 * `_` and `-` alike in names, flags and other arguments mixed, `--` ends flags.
 * `--help` ends the reading. Throws a UsageError.
 */
export function parseFlags<S extends FlagSpec>(
  program: Program<S>,
  argv: readonly string[],
): ParsedFlags<S> {
  const states = new Map<string, FlagState>();
  for (const [name, definition] of Object.entries({ ...SHARED_FLAGS, ...program.flags })) {
    states.set(normalize(name), { name, definition, value: definition.initial, texts: [] });
  }
  const positional: string[] = [];
  let isHelp = false;
  let at = 0;
  while (at < argv.length && !isHelp) {
    const argument = argv[at++]!;
    if (argument === '--') {
      positional.push(...argv.slice(at));
      break;
    }
    if (argument.length < 2 || !argument.startsWith('-')) {
      positional.push(argument);
      continue;
    }
    const { dashes, name, value } = splitArgument(argument);
    if (name === 'h' || name === 'help') {
      isHelp = true;
      continue;
    }
    const state = states.get(normalize(name));
    if (state === undefined) throw unknownFlag(`${dashes}${name}`, program);
    const text = value ?? (state.definition.isBoolean ? 'true' : argv[at++]);
    if (text === undefined) throw new UsageError(`${dashes}${name} needs a value`);
    setFlag(state, name, text);
  }
  return {
    request: isHelp ? 'help' : (states.get('version')!.value as FlagRequest),
    values: collectValues(program.flags, states),
    isSet: (name) => (states.get(normalize(name))?.texts.length ?? 0) > 0,
    given: givenTexts(states),
    positional,
    verbosity: states.get('v')!.value as number,
    logFormat: states.get('logging-format')!.value as LogFormat,
  };
}

/** The form of the log that a command line asks for which is refused, as far as it can be read. */
export function requestedLogFormat(argv: readonly string[]): LogFormat {
  const end = argv.indexOf('--');
  const words = (end < 0 ? argv : argv.slice(0, end)).join('\n');
  const asked = [...words.matchAll(/^--?logging[-_]format[=\n](.*)$/gm)].at(-1)?.[1];
  return LOG_FORMATS.find((format) => format === asked) ?? LOGGING_FORMAT_FLAG.initial;
}

function normalize(name: string): string {
  return name.replaceAll('_', '-');
}

function splitArgument(argument: string): { dashes: string; name: string; value?: string } {
  // `-v2`, the short form of the one flag that has one.
  const short = /^-v(\d+)$/.exec(argument);
  if (short !== null) return { dashes: '-', name: 'v', value: short[1]! };
  const match = /^(--?)([^-=][^=]*)(?:=([^]*))?$/.exec(argument);
  if (match === null) throw new UsageError(`${argument} is not a flag`);
  const [, dashes, name, value] = match;
  return { dashes: dashes!, name: name!, ...(value === undefined ? {} : { value }) };
}

function setFlag(state: FlagState, name: string, text: string): void {
  try {
    state.value = state.definition.parse(text, state.value, state.texts.length > 0);
    state.texts.push(text);
  } catch (error) {
    throw wrongValue(name, text, errorText(error));
  }
}

function unknownFlag(flag: string, { name, flags }: Program): UsageError {
  const known = Object.keys({ ...flags, ...SHARED_FLAGS, help: undefined });
  const names = known.map((each) => `--${each}`);
  return new UsageError(`unknown flag ${flag}${hint(flag, names, name)}`);
}

/** The complaint about the value of a flag: the flag as it was written, and what is wanted or wrong. */
export function wrongValue(flag: string, value: string, reason: string): UsageError {
  return new UsageError(`--${flag}=${shownUrl(value)}: ${reason}`);
}

function givenTexts(states: ReadonlyMap<string, FlagState>): Map<string, readonly string[]> {
  const given = [...states.values()].filter(({ texts }) => texts.length > 0);
  return new Map(given.map(({ name, texts }) => [name, texts]));
}

function collectValues<S extends FlagSpec>(
  flags: S,
  states: ReadonlyMap<string, FlagState>,
): FlagValues<S> {
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(flags)) values[name] = states.get(normalize(name))!.value;
  // Each value was parsed by the definition of the same name, or is its initial value.
  return values as FlagValues<S>;
}
