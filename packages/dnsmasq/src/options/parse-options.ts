import { OptionError } from '../errors.js';
import { type OptionDefinition, OPTIONS } from './option-table.js';
import { defaultOptions, type DnsmasqOptions } from './option-values.js';

/**
 * Reads dnsmasq's half of the command line with its rules: names may be abbreviated while they stay
 * unambiguous, an optional value needs `=`, later scalars win, lists accumulate. Throws an OptionError
 * that names the option.
 */
export function parseOptions(argv: readonly string[]): DnsmasqOptions {
  const options = defaultOptions();
  const left = [...argv];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === '--') refuseJunk(left.shift());
    else if (word.startsWith('--')) applyLong(options, word, left);
    else if (word.startsWith('-') && word.length > 1) applyShort(options, word.slice(1), left);
    else refuseJunk(word);
  }
  return options;
}

/** A word that belongs to no option; behind `--` every word is one. */
function refuseJunk(word: string | undefined): void {
  if (word === undefined) return;
  throw new OptionError(`junk found in command line: ${JSON.stringify(word)}`);
}

function applyLong(options: DnsmasqOptions, word: string, left: string[]): void {
  const equals = word.indexOf('=');
  const name = equals < 0 ? word.slice(2) : word.slice(2, equals);
  const definition = findLong(name);
  const value = equals < 0 ? undefined : word.slice(equals + 1);
  if (definition.value === 'none' && value !== undefined) {
    throw new OptionError(`option --${definition.name} takes no value`);
  }
  const isRequired = definition.value === 'required';
  applyValue(options, definition, value ?? (isRequired ? nextWord(definition, left) : ''));
}

/** A cluster such as `-kN`, where the first option that takes a value takes the rest as its value. */
function applyShort(options: DnsmasqOptions, letters: string, left: string[]): void {
  for (let i = 0; i < letters.length; i++) {
    const letter = letters[i]!;
    const definition = OPTIONS.find(({ short }) => short === letter);
    if (definition === undefined) throw new OptionError(`unsupported option: -${letter}`);
    if (definition.value === 'none') {
      definition.apply(options, '');
      continue;
    }
    const rest = letters.slice(i + 1);
    applyValue(options, definition, rest === '' ? nextWord(definition, left) : rest);
    return;
  }
}

function applyValue(options: DnsmasqOptions, definition: OptionDefinition, value: string): void {
  try {
    definition.apply(options, value);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new OptionError(`--${definition.name}: ${error.message}`);
  }
}

function findLong(name: string): OptionDefinition {
  const exact = OPTIONS.find((option) => option.name === name);
  if (exact !== undefined) return exact;
  const matches = OPTIONS.filter((option) => option.name.startsWith(name));
  if (matches.length === 1) return matches[0]!;
  if (matches.length === 0) throw new OptionError(`unsupported option: --${name}`);
  const names = matches.map((option) => `--${option.name}`).join(', ');
  throw new OptionError(`ambiguous option --${name}: ${names}`);
}

function nextWord(definition: OptionDefinition, left: string[]): string {
  const word = left.shift();
  if (word === undefined) throw new OptionError(`option --${definition.name} needs a value`);
  return word;
}

/** The options as `--help` lists them. */
export function optionsText(): string {
  const lines = OPTIONS.map(({ name, short, value, help }) => {
    const shape = { none: '', required: '=<value>', optional: '=<value>' }[value];
    const left = `  ${short === '' ? '    ' : `-${short}, `}--${name}${shape}`;
    return `${left.padEnd(34)} ${help}`;
  });
  return ['dnsmasq options, behind `--`:', ...lines, ''].join('\n');
}
