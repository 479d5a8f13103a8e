import { spawnSync } from 'node:child_process';
import { readdirSync, realpathSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readDescriptor, readTextFile, StartupError } from '@kube-dns/daemon';
import { decodeName, TYPE } from '@kube-dns/wire';
import {
  EXIT_BAD_CONFIGURATION,
  EXIT_BAD_FILE,
  EXIT_BAD_SCRIPT,
  OptionError,
  systemText,
} from '../errors.js';
import { fieldsOf, hideDividers, showHidden } from './option-kinds.js';
import {
  applyOption,
  defaultOptions,
  type DnsmasqOptions,
  findByAbbreviation,
  findByLetter,
  findByName,
  type OptionDefinition,
  type OptionsDraft,
} from './option-table.js';
import { findCnameLoop, type LocalRecord, mxRecord, nameOf, targetName } from './record-values.js';

/** The file that is read when the command line names none; empty is none. */
export const DEFAULT_CONFIG_FILE = '/etc/dnsmasq.conf';

/**
 * Reads dnsmasq's half of the command line with its rules: names may be abbreviated while they stay
 * unambiguous, an optional value needs `=`, later scalars win, lists accumulate, and the configuration
 * files are read last and take precedence. Throws a StartupError in dnsmasq's words, followed by the
 * option and the reason. Nothing after `--help` or `--version` is read.
 */
export function parseOptions(argv: readonly string[], defaultFile = ''): DnsmasqOptions {
  return new ArgumentReader(argv).read(defaultFile);
}

class ArgumentReader {
  readonly #draft = defaultOptions();
  readonly #files = new OptionFiles(this.#draft);
  readonly #remaining: string[];
  readonly #junk: string[] = [];
  readonly #filePaths: string[] = [];

  constructor(argv: readonly string[]) {
    this.#remaining = [...argv];
  }

  read(defaultFile: string): DnsmasqOptions {
    for (let word = this.#remaining.shift(); word !== undefined; word = this.#remaining.shift()) {
      if (word === '--') this.#junk.push(...this.#remaining.splice(0));
      else if (word.startsWith('--')) this.#readLong(word);
      else if (word.startsWith('-') && word.length > 1) this.#readShortOptions(word.slice(1));
      else this.#junk.push(word);
      const { request } = this.#draft;
      if (request === 'help' || request === 'version') return this.#draft;
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
      // `-q` is the one letter whose value can be given to the long name only.
      if (option.value === 'none' || option.short === 'q') {
        this.#obey(option, '');
        continue;
      }
      const rest = characters.slice(i + 1);
      this.#obey(option, rest === '' ? this.#nextWord(option) : rest);
      return;
    }
  }

  #nextWord(option: OptionDefinition): string {
    const word = this.#remaining.shift();
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
        applyOption(this.#draft, option, value, given);
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

/**
 * Completes records from the options of other lines: `--mx-target`, or this machine, for `--mx-host` with a name
 * only and for `--localmx`, and the domain for an SRV record of two labels, `_service._proto`.
 */
function completeRecords(draft: OptionsDraft): void {
  const { records, mxNames, mxTarget, domain, sendsHostMxToTarget } = draft;
  const target = mxTarget || hostname();
  for (const name of mxNames) records.push(mxRecord([name, target]));
  if (mxTarget !== '' || sendsHostMxToTarget) addMxOfThisMachine(records, target);
  if (sendsHostMxToTarget && draft.hostMx === undefined) draft.hostMx = targetName(target);
  if (domain === '') return;
  records.forEach((one, i) => {
    const name = decodeName(one.owner);
    if (one.type !== TYPE.SRV || name.split('.').length !== 2) return;
    records[i] = { ...one, owner: nameOf(`${name}.${domain}`).key };
  });
}

function addMxOfThisMachine(records: LocalRecord[], target: string): void {
  const own = mxRecord([hostname(), target, '0']);
  const isOwn = ({ type, owner }: LocalRecord) =>
    type === TYPE.MX && Buffer.compare(owner, own.owner) === 0;
  if (!records.some(isOwn)) records.push(own);
}

const STANDARD_INPUT = '-';
const STDIN = 0;
/** Of a file of options or servers; long lists of `server=/domain/` have some MB. */
export const MAX_OPTIONS_BYTES = 16 * 1024 * 1024;
/** Limits of a script's time and output; dnsmasq itself would wait without limit. */
const SCRIPT_LIMITS = { timeout: 60_000, maxBuffer: 16 * 1024 * 1024 } as const;

/** Reads configuration files into a draft; each file only once, so that files may include each other. */
class OptionFiles {
  readonly #draft: OptionsDraft;
  readonly #filesRead = new Set<string>();
  readonly #onceSeen = new Set<string>();

  constructor(draft: OptionsDraft) {
    this.#draft = draft;
  }

  /**
   * Applies each line of a file. Throws a StartupError that names file and line. Does nothing for the
   * empty path and for a missing optional file.
   */
  readFile(path: string, isOptional = false): void {
    if (path === '') return;
    try {
      const lines = this.#readLines(path);
      lines.forEach((line, i) => this.#applyLine(line, `at line ${i + 1} of ${path}`));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined || error instanceof StartupError) throw error;
      if (code === 'ENOENT' && isOptional) return;
      throw new StartupError(`cannot read ${path}: ${systemText(error)}`, EXIT_BAD_FILE);
    }
  }

  /**
   * Reads the files of a directory in the order of their names: `directory[,*.ext…][,.ext…]`, those
   * with an extension after `*` or all, without those of the other extensions, backups and hidden ones
   * (src/option.c, LOPT_CONF_DIR). Throws a StartupError.
   */
  readDirectory(value: string): void {
    const [directory = '', ...extensions] = fieldsOf(value);
    for (const name of this.#list(directory)) {
      const path = join(directory, name);
      if (!isWanted(name, extensions)) continue;
      if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) this.readFile(path);
    }
  }

  /** Applies each line that a shell command prints. Throws a StartupError, also for a command that fails. */
  readScript(command: string): void {
    const { status, stdout } = spawnSync('/bin/sh', ['-c', command], {
      ...SCRIPT_LIMITS,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (status !== 0) {
      throw new StartupError(`${command} returns non-zero error code`, EXIT_BAD_SCRIPT);
    }
    for (const line of stdout.split('\n')) this.#applyLine(line, `in output from ${command}`);
  }

  #list(directory: string): string[] {
    try {
      return readdirSync(directory).sort();
    } catch (error) {
      const message = `cannot access directory ${directory}: ${systemText(error)}`;
      throw new StartupError(message, EXIT_BAD_FILE);
    }
  }

  #readLines(path: string): string[] {
    if (path === STANDARD_INPUT) return readDescriptor(STDIN, MAX_OPTIONS_BYTES).split('\n');
    const id = realpathSync(path);
    if (this.#filesRead.has(id)) return [];
    const lines = readTextFile(id, MAX_OPTIONS_BYTES).split('\n');
    this.#filesRead.add(id);
    return lines;
  }

  #applyLine(text: string, where: string): void {
    let option = '';
    try {
      const line = parseOptionLine(text);
      if (line === undefined) return;
      option = `${line.keyword}: `;
      this.#apply(line.keyword, line.value, where.replace(/^(?:at|in) /, ''));
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      const detail = error.message === '' ? '' : ` (${option}${error.message})`;
      const message = `${error.words ?? 'error'} ${where}${detail}`;
      throw new StartupError(message, EXIT_BAD_CONFIGURATION);
    }
  }

  #apply(keyword: string, value: string | undefined, place: string): void {
    const definition = findByName(keyword);
    if (definition.value === 'none' && value !== undefined) {
      throw new OptionError('it takes no value', 'extraneous parameter');
    }
    if (definition.value === 'required' && value === undefined) {
      throw new OptionError('it needs a value', 'missing parameter');
    }
    if (definition.isOnce && this.#onceSeen.has(keyword)) {
      throw new OptionError('a file contains it already', 'illegal repeated keyword');
    }
    this.#onceSeen.add(keyword);
    if (keyword === 'conf-file') this.readFile(value ?? '');
    else if (keyword === 'conf-dir') this.readDirectory(value ?? '');
    else if (keyword === 'conf-script') this.readScript(value ?? '');
    else {
      const given = { name: definition.name, value: showHidden(value ?? ''), place };
      applyOption(this.#draft, definition, value ?? '', given);
    }
  }
}

function isWanted(name: string, extensions: readonly string[]): boolean {
  if (name.startsWith('.') || name.endsWith('~')) return false;
  if (name.startsWith('#') && name.endsWith('#')) return false;
  const wanted = extensions.filter((text) => text.startsWith('*')).map((text) => text.slice(1));
  const unwanted = extensions.filter((text) => text !== '' && !text.startsWith('*'));
  if (unwanted.some((extension) => name.endsWith(extension))) return false;
  return wanted.length === 0 || wanted.some((extension) => name.endsWith(extension));
}

/** One line of a configuration file, without dashes and comment. */
interface OptionLine {
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
