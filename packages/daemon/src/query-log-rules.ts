import { errorText, type FlagDefinition, MAX_QUOTED, quote } from '@kube-dns/base';
import { encodeKey } from '@kube-dns/wire';
import { ConfigError } from './errors.js';

/** How lines of the query log look: CoreDNS's common format, or an object per line. */
export type QueryLogFormat = 'off' | 'text' | 'json';
/** The classes of answers of CoreDNS's plugin log: with records, without (NXDOMAIN, NODATA), any other rcode. */
export type QueryLogClass = 'success' | 'denial' | 'error';

/**
 * Which answers get a line in the query log. Failures (class error, and questions without an answer) and slow
 * answers get one whatever the classes, the names and the sample are.
 */
export interface QueryLogRules {
  readonly format: QueryLogFormat;
  readonly classes: ReadonlySet<QueryLogClass>;
  /** Domains, lower-cased and in wire form: names at or below any of them; empty: every name. */
  readonly names: readonly Uint8Array[];
  /** One answer of so many gets a line. */
  readonly sample: number;
  /** An answer that took so long, in milliseconds, is slow. */
  readonly slowMs: number;
}

const FORMATS: readonly QueryLogFormat[] = ['off', 'text', 'json'];
const CLASSES: readonly QueryLogClass[] = ['success', 'denial', 'error'];
const ALL = 'all';
const SETTINGS = ['class', 'name', 'sample', 'slow'];
const MAX_SAMPLE = 1_000_000;
/** kubelet's probes and many clients wait for a second; the resolver of a pod waits for five, and asks twice. */
const DEFAULT_SLOW_MS = 1_000;
/** No question is in flight for longer. */
const MAX_SLOW_MS = 60_000;
/** Each is compared with each question. */
const MAX_NAMES = 16;
const MAX_SETTINGS = 32;

/** The rules of `off`, and of a program without the flag. */
export const QUERY_LOG_OFF: QueryLogRules = {
  format: 'off',
  classes: new Set(CLASSES),
  names: [],
  sample: 1,
  slowMs: DEFAULT_SLOW_MS,
};

/**
 * Reads `off`, or `text` or `json` with settings behind it: `json,class=error,name=svc.cluster.local,sample=100,slow=250`,
 * the value of the flag and of the key `queryLog`. Throws a ConfigError with one message per mistake.
 */
export function parseQueryLogRules(text: string): QueryLogRules {
  const mistakes: string[] = [];
  const parts = text.split(',', MAX_SETTINGS + 2).map((part) => part.trim());
  const [word = '', ...settings] = parts;
  if (settings.length > MAX_SETTINGS) throw new ConfigError([`more than ${MAX_SETTINGS} settings`]);
  const format = FORMATS.find((each) => each === word);
  if (format === undefined) {
    mistakes.push(`${quote(word)} is not a format: it starts with one of ${FORMATS.join(', ')}`);
  }
  if (format === 'off' && settings.length > 0) mistakes.push('off has no settings');
  const rules = readSettings(settings, mistakes);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return { ...rules, format: format ?? 'off' };
}

/** The flag `--query-log`; the last one given counts. */
export function queryLogFlag(): FlagDefinition<QueryLogRules> {
  return {
    parse: (text) => parseQueryLogRules(text),
    initial: QUERY_LOG_OFF,
    help:
      'write a line per answer to stdout, in CoreDNS’s format or as JSON: text|json[,class=all|success|denial|error]' +
      `[,name=DOMAIN][,sample=N][,slow=MS]; failures and answers slower than MS (${DEFAULT_SLOW_MS}) always; ` +
      'the key queryLog of the ConfigMap is stronger',
    valueName: 'rules',
    formatDefault: () => 'off',
  };
}

function readSettings(
  settings: readonly string[],
  mistakes: string[],
): Omit<QueryLogRules, 'format'> {
  const classes = new Set<QueryLogClass>();
  const names: Uint8Array[] = [];
  const numbers = new Map<string, number>();
  const readNumber = (key: string, text: string, max: number): void => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (numbers.has(key)) mistakes.push(`${key} is given twice`);
    else if (value < 1 || value > max) {
      mistakes.push(`${key}=${quote(text)} is not a whole number from 1 to ${max}`);
    }
    numbers.set(key, value);
  };
  for (const setting of settings) {
    const [, key = '', text = ''] = /^([^=]*)=(.*)$/s.exec(setting) ?? [];
    if (key === 'class') addClass(text, classes, mistakes);
    else if (key === 'name') addName(text, names, mistakes);
    else if (key === 'sample') readNumber(key, text, MAX_SAMPLE);
    else if (key === 'slow') readNumber(key, text, MAX_SLOW_MS);
    else
      mistakes.push(
        `${quote(setting)} is not one of ${SETTINGS.map((each) => `${each}=…`).join(', ')}`,
      );
  }
  if (names.length > MAX_NAMES)
    mistakes.push(`${names.length} names, at most ${MAX_NAMES} are possible`);
  return {
    classes: classes.size === 0 ? QUERY_LOG_OFF.classes : classes,
    names,
    sample: numbers.get('sample') ?? QUERY_LOG_OFF.sample,
    slowMs: numbers.get('slow') ?? QUERY_LOG_OFF.slowMs,
  };
}

function addClass(text: string, classes: Set<QueryLogClass>, mistakes: string[]): void {
  const found = CLASSES.filter((each) => each === text || text === ALL);
  for (const each of found) classes.add(each);
  if (found.length === 0) {
    mistakes.push(`class=${quote(text)} is not one of ${[ALL, ...CLASSES].join(', ')}`);
  }
}

function addName(text: string, names: Uint8Array[], mistakes: string[]): void {
  try {
    names.push(encodeKey(text));
  } catch (error) {
    // The message repeats the name.
    mistakes.push(
      text.length > MAX_QUOTED ? `name=${quote(text)} is not a name` : errorText(error),
    );
  }
}
