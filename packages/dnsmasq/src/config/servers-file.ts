import { type Log, readTextFile } from '@kube-dns/daemon';
import { OptionError, systemText } from '../errors.js';
import type { GivenOptions } from '../options/given-options.js';
import {
  applyOption,
  defaultOptions,
  findByName,
  type OptionDefinition,
} from '../options/option-table.js';
import { MAX_OPTIONS_BYTES, parseOptionLine } from '../options/parse-options.js';
import type { ServerRule } from '../options/server-value.js';
import { UNSUPPORTED_OPTIONS } from '../options/unsupported-options.js';

/** The content of a file of `--servers-file`. */
export interface ServersFileContent {
  readonly rules: readonly ServerRule[];
  /** The lines that apply. */
  readonly given: GivenOptions;
  /** One text for each bad line; the other lines apply. */
  readonly complaints: readonly string[];
}

/** The options that a servers file may have (src/option.c, LOPT_SERVERS_FILE). */
const SERVERS_FILE_OPTIONS: ReadonlySet<string> = new Set(['server', 'rev-server']);
const UNSUPPORTED: ReadonlySet<string> = new Set(UNSUPPORTED_OPTIONS.map(({ name }) => name));
/** At most this many bad lines of a file are logged: it is read again at each SIGHUP. */
const MAX_COMPLAINTS = 20;

/** Servers that are read again at each load of the routes (`--servers-file`). */
export class ServersFile {
  readonly #path: string;
  readonly #log: Log;
  #rules: readonly ServerRule[] = [];
  /** The lines that were read last. */
  given = defaultOptions().given;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /**
   * The rules in the file now; those of the last read when it cannot be read. Bad lines are logged in
   * dnsmasq's words and skipped.
   */
  read(): readonly ServerRule[] {
    try {
      const text = readTextFile(this.#path, MAX_OPTIONS_BYTES);
      const { rules, given, complaints } = parseServersFile(text, this.#path);
      for (const complaint of complaints.slice(0, MAX_COMPLAINTS)) this.#log.error(complaint);
      const more = complaints.length - MAX_COMPLAINTS;
      if (more > 0) this.#log.error(`${more} more bad lines in ${this.#path}`);
      this.#rules = rules;
      this.given = given;
    } catch (error) {
      this.#log.error(`cannot read ${this.#path}: ${systemText(error)}`);
    }
    return this.#rules;
  }
}

/** Reads the text of a servers file: `server` and `rev-server` lines; others are reported and skipped. */
export function parseServersFile(text: string, path: string): ServersFileContent {
  const draft = defaultOptions();
  const complaints: string[] = [];
  text.split('\n').forEach((content, i) => {
    const where = `at line ${i + 1} of ${path}`;
    try {
      const line = parseOptionLine(content);
      if (line === undefined) return;
      if (UNSUPPORTED.has(line.keyword)) throw illegalOption();
      const option = findByName(line.keyword);
      checkValue(option, line.value);
      if (!SERVERS_FILE_OPTIONS.has(option.name)) throw illegalOption();
      const value = line.value ?? '';
      applyOption(draft, option, value, {
        name: option.name,
        value,
        place: where.replace('at ', ''),
      });
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      const detail = error.message === '' ? '' : ` (${error.message})`;
      complaints.push(`${error.words ?? 'error'} ${where}${detail}`);
    }
  });
  return { rules: draft.serverRules, given: draft.given, complaints };
}

/** dnsmasq checks the value before it checks whether the file may contain the option (src/option.c, read_file). */
function checkValue({ value: wanted }: OptionDefinition, value: string | undefined): void {
  if (wanted === 'none' && value !== undefined) throw new OptionError('', 'extraneous parameter');
  if (wanted === 'required' && value === undefined) throw new OptionError('', 'missing parameter');
}

function illegalOption(): OptionError {
  return new OptionError('', 'illegal option');
}
