import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readTextFile, StartupError } from '@kube-dns/daemon';
import { OptionError } from '../errors.js';
import { systemText } from '../log/system-text.js';
import { findByName } from './find-option.js';
import { showHidden } from './hidden-text.js';
import { fieldsOf } from './option-definition.js';
import { parseOptionLine } from './option-line.js';
import type { OptionsDraft } from './option-values.js';
import { EXIT_BAD_CONFIGURATION, EXIT_BAD_FILE, EXIT_BAD_SCRIPT } from './exit-codes.js';

const STANDARD_INPUT = '-';
/** Limits of a script's time and output; dnsmasq itself would wait without limit. */
const SCRIPT_LIMITS = { timeout: 60_000, maxBuffer: 16 * 1024 * 1024 } as const;

/** Reads configuration files into a draft; each file only once, so that files may include each other. */
export class OptionFiles {
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
      if (
        isWanted(name, extensions) &&
        statSync(path, { throwIfNoEntry: false })?.isFile() === true
      )
        this.readFile(path);
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
    if (path === STANDARD_INPUT) return readFileSync(0, 'utf8').split('\n');
    const id = realpathSync(path);
    if (this.#filesRead.has(id)) return [];
    const lines = readTextFile(id).split('\n');
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
      const { name } = definition;
      const given = { name, value: showHidden(value ?? ''), place };
      const apply = () => definition.apply(this.#draft, value ?? '');
      this.#draft.given.apply(given, this.#draft, apply);
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
