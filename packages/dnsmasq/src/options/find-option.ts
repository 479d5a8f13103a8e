import { nearest } from '@kube-dns/base';
import { OptionError } from '../errors.js';
import { type OptionDefinition } from './option-definition.js';
import { FILE_OPTIONS } from './file-options.js';
import { OPTIONS } from './option-table.js';
import { UNSUPPORTED_OPTIONS } from './unsupported-options.js';

/** Every supported option, including those that name files and those that print a text. */
export const KNOWN_OPTIONS: readonly OptionDefinition[] = [...OPTIONS, ...FILE_OPTIONS];

const BY_NAME = new Map(KNOWN_OPTIONS.map((option) => [option.name, option]));
const BY_LETTER = new Map(KNOWN_OPTIONS.map((option) => [option.short, option]));
const UNSUPPORTED_BY_LETTER = new Map(UNSUPPORTED_OPTIONS.map(({ short, name }) => [short, name]));
/** The names of all options of dnsmasq, supported or not. */
export const OPTION_NAMES: readonly string[] = [
  ...BY_NAME.keys(),
  ...UNSUPPORTED_OPTIONS.map(({ name }) => name),
];

/** Finds an option by its name or an unambiguous abbreviation. Throws an OptionError. */
export function findByAbbreviation(name: string): OptionDefinition {
  const matches = OPTION_NAMES.includes(name)
    ? [name]
    : OPTION_NAMES.filter((full) => full.startsWith(name));
  if (matches.length === 1) return findByName(matches[0]!);
  if (matches.length === 0) throw new OptionError(`unknown option --${name}${meant(name, '--')}`);
  const list = matches.map((full) => `--${full}`).join(', ');
  throw new OptionError(`ambiguous option --${name}: ${list}`);
}

/** Finds an option by its whole name. Throws an OptionError. */
export function findByName(name: string): OptionDefinition {
  const option = BY_NAME.get(name);
  if (option !== undefined) return option;
  if (OPTION_NAMES.includes(name)) throw unsupported(name);
  throw new OptionError(`unknown option ${JSON.stringify(name)}${meant(name, '')}`, 'bad option');
}

/** Finds an option by its letter. Throws an OptionError. */
export function findByLetter(letter: string): OptionDefinition {
  const option = BY_LETTER.get(letter);
  if (option !== undefined && letter !== '') return option;
  const name = UNSUPPORTED_BY_LETTER.get(letter);
  if (name !== undefined && letter !== '') throw unsupported(name);
  throw new OptionError(`unknown option -${letter}`);
}

/** `; did you mean --x?`, or nothing: dnsmasq's own words name its help already. Files have no dashes. */
function meant(name: string, dashes: '--' | ''): string {
  const near = nearest(name, BY_NAME.keys());
  return near === undefined ? '' : `; did you mean ${dashes}${near}?`;
}

function unsupported(name: string): OptionError {
  return new OptionError('', `unsupported option: --${name}`);
}
