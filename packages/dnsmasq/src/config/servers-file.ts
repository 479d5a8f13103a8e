import { readFileSync } from 'node:fs';
import { errorText, type Log } from '@kube-dns/daemon';
import { OptionError } from '../errors.js';
import { parseServerRule, type ServerRule } from '../options/server-value.js';

/** Reads one line's value; undefined for a keyword that this file cannot have. Throws an OptionError. */
export type ServerLineParser = (
  keyword: string,
  value: string,
) => readonly ServerRule[] | undefined;

const parseLine: ServerLineParser = (keyword, value) =>
  keyword === 'server' || keyword === 'local' ? [parseServerRule(value)] : undefined;

/** Servers that are read again on SIGHUP (`--servers-file`); the last good ones stay. */
export class ServersFile {
  readonly #path: string;
  readonly #log: Log;
  readonly #parse: ServerLineParser;
  #rules: readonly ServerRule[] = [];

  constructor(path: string, log: Log, parse: ServerLineParser = parseLine) {
    this.#path = path;
    this.#log = log;
    this.#parse = parse;
  }

  /** The rules in the file now; those of the last time when it cannot be read. */
  read(): readonly ServerRule[] {
    try {
      const lines = readFileSync(this.#path, 'utf8').split('\n');
      this.#rules = lines.flatMap((line, at) => this.#readLine(line.trim(), at + 1));
      this.#log.info(`read ${this.#path}`);
    } catch (error) {
      this.#log.warn(`cannot read ${this.#path}: ${errorText(error)}`);
    }
    return this.#rules;
  }

  #readLine(line: string, number: number): readonly ServerRule[] {
    if (line === '' || line.startsWith('#')) return [];
    const [, keyword = '', value = ''] = /^([^=\s]+)\s*=\s*(.*)$/.exec(line) ?? [];
    try {
      const rules = this.#parse(keyword, value);
      if (rules !== undefined) return rules;
      this.#log.warn(`illegal option at line ${number} of ${this.#path}`);
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      this.#log.warn(`${error.message} at line ${number} of ${this.#path}`);
    }
    return [];
  }
}
