import { StartupError } from '@kube-dns/daemon';
import { OptionError } from '../errors.js';
import { findCnameLoop } from './cname-loops.js';
import { completeRecords } from './complete-records.js';
import { EXIT_BAD_CONFIGURATION } from './exit-codes.js';
import { findByAbbreviation, findByLetter } from './find-option.js';
import type { OptionDefinition } from './option-definition.js';
import { OptionFiles } from './option-files.js';
import { defaultOptions, type DnsmasqOptions } from './option-values.js';

/** The file that is read when the command line names none; empty is none. */
export const DEFAULT_CONFIG_FILE = '/etc/dnsmasq.conf';

/**
 * Reads dnsmasq's half of the command line with its rules: names may be abbreviated while they stay
 * unambiguous, an optional value needs `=`, later scalars win, lists accumulate, and the configuration
 * files are read last and take precedence. Throws a StartupError in dnsmasq's words, followed by the
 * option and the reason. Nothing after `--help` or `--version` is read.
--
 */
export function parseOptions(argv: readonly string[], defaultFile = ''): DnsmasqOptions {
  return new ArgumentReader(argv).read(defaultFile);
}

class ArgumentReader {
  readonly #draft = defaultOptions();
  readonly #files = new OptionFiles(this.#draft);
  readonly #left: string[];
  readonly #junk: string[] = [];
  readonly #filePaths: string[] = [];

  constructor(argv: readonly string[]) {
    this.#left = [...argv];
  }

  read(defaultFile: string): DnsmasqOptions {
    for (let word = this.#left.shift(); word !== undefined; word = this.#left.shift()) {
      if (word === '--') this.#junk.push(...this.#left.splice(0));
      else if (word.startsWith('--')) this.#readLong(word);
      else if (word.startsWith('-') && word.length > 1) this.#readShortOptions(word.slice(1));
      else this.#junk.push(word);
      if (isText(this.#draft)) return this.#draft;
    }
    const [junk] = this.#junk;
    if (junk !== undefined) {
      const message = `junk found in command line: ${JSON.stringify(junk)}`;
      throw new StartupError(message, EXIT_BAD_CONFIGURATION);
    }
    if (this.#filePaths.length === 0) this.#files.readFile(defaultFile, true);
    for (const path of this.#filePaths) this.#files.readFile(path);
    return this.#check();
  }

  #readLong(word: string): void {
    const equals = word.indexOf('=');
    const name = equals < 0 ? word.slice(2) : word.slice(2, equals);
    const value = equals < 0 ? undefined : word.slice(equals + 1);
    const option = orFail(() => findByAbbreviation(name));
    if (option.value === 'none' && value !== undefined) {
      throw badOption(new OptionError('it takes no value'), option);
    }
    this.#obey(option, value ?? (option.value === 'required' ? this.#nextWord(option) : ''));
  }

  /** A cluster such as `-kN`, where the first option that takes a value takes the rest as its value. */
  #readShortOptions(characters: string): void {
    for (let i = 0; i < characters.length; i++) {
      const option = orFail(() => findByLetter(characters[i]!));
      if (option.value === 'none' || isLongValued(option)) {
        this.#obey(option, '');
        continue;
      }
      const rest = characters.slice(i + 1);
      this.#obey(option, rest === '' ? this.#nextWord(option) : rest);
      return;
    }
  }

  #nextWord(option: OptionDefinition): string {
    const word = this.#left.shift();
    if (word === undefined) throw badOption(new OptionError('it needs a value'), option);
    return word;
  }

  #obey(option: OptionDefinition, value: string): void {
    try {
      if (option.name === 'conf-file') this.#filePaths.push(value);
      else if (option.name === 'conf-dir') this.#files.readDirectory(value);
      else if (option.name === 'conf-script') this.#files.readScript(value);
      else {
        const given = { name: option.name, value, place: 'the command line' };
        this.#draft.given.apply(given, this.#draft, () => option.apply(this.#draft, value));
      }
    } catch (error) {
      if (error instanceof OptionError) throw badOption(error, option);
      throw error;
    }
  }

  #check(): DnsmasqOptions {
    const draft = this.#draft;
    orFail(() => completeRecords(draft));
    const loop = findCnameLoop(draft.records);
    if (loop !== undefined) {
      throw new StartupError(`CNAME loop involving ${loop}`, EXIT_BAD_CONFIGURATION);
    }
    if (draft.stale !== undefined && draft.maxStaleSeconds > 0) {
      const message = '--stale and --use-stale-cache: only one of them can be given';
      throw new StartupError(message, EXIT_BAD_CONFIGURATION);
    }
    if (!draft.followsResolvFile && draft.usesResolvFile && draft.resolvFiles.length > 1) {
      const message = 'only one resolv.conf file allowed in no-poll mode.';
      throw new StartupError(message, EXIT_BAD_CONFIGURATION);
    }
    return draft;
  }
}

/** `-q` is the one letter whose value can be given to the long name only. */
function isLongValued({ short }: OptionDefinition): boolean {
  return short === 'q';
}

function isText({ request }: DnsmasqOptions): boolean {
  return request === 'help' || request === 'version';
}

/** Errors that belong to no single option, or occur before the option is found. */
function orFail<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof OptionError) throw badOption(error);
    throw error;
  }
}

function badOption(error: OptionError, option?: OptionDefinition): StartupError {
  const about = option === undefined ? '' : `--${option.name}: `;
  const detail = error.message === '' ? '' : ` (${about}${error.message})`;
  const message = `bad command line options: ${error.words ?? 'try --help'}${detail}`;
  return new StartupError(message, EXIT_BAD_CONFIGURATION);
}
