import { OptionError } from '../errors.js';
import { hideDividers } from './hidden-text.js';

/** One line of a configuration file, without dashes and comment. */
export interface OptionLine {
  readonly keyword: string;
  /** Undefined without `=`. Dividers in quoted text are hidden, see {@link hideDividers}. */
  readonly value: string | undefined;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  n: '\n',
  t: '\t',
  b: '\b',
  r: '\r',
  e: '\u001b',
};

/**
 * Reads a line with dnsmasq's rules (src/option.c, read_file): `#` at the start of a word begins a
 * comment, blanks and commas in quotes do not divide, and backslashes escape only inside quotes.
 * Undefined for a line without an option. Throws an OptionError for a quote that does not end.
 */
export function parseOptionLine(line: string): OptionLine | undefined {
  const text = readQuotes(line).trim();
  if (text === '') return undefined;
  const equals = text.indexOf('=');
  if (equals < 0) return { keyword: text, value: undefined };
  return { keyword: text.slice(0, equals).trimEnd(), value: text.slice(equals + 1).trimStart() };
}

function readQuotes(line: string): string {
  let out = '';
  let isWordStart = true;
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!;
    if (isWordStart && char === '#') break;
    if (char === '"') {
      const quoted = readQuoted(line, at + 1);
      out += hideDividers(quoted.text);
      at = quoted.end;
      isWordStart = false;
      continue;
    }
    isWordStart = /\s/.test(char);
    out += isWordStart ? ' ' : char;
  }
  return out;
}

function readQuoted(line: string, start: number): { text: string; end: number } {
  let text = '';
  for (let at = start; at < line.length; at++) {
    const char = line[at]!;
    if (char === '"') return { text, end: at };
    const escaped = char === '\\' ? ESCAPES[line[at + 1] ?? ''] : undefined;
    if (escaped !== undefined) at++;
    text += escaped ?? char;
  }
  throw new OptionError('a quote does not end', 'missing "');
}
