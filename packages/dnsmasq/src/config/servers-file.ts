import { readFileSync } from 'node:fs';
import type { Log } from '@kube-dns/daemon';
import { systemText } from '../system-text.js';
import type { ServerRule } from '../options/server-value.js';
import { parseServersFile } from '../options/servers-file.js';

/** As many bad lines of a file are logged: it is read again at each SIGHUP. */
const MAX_COMPLAINTS = 20;

/** Servers that are read again at each load of the routes (`--servers-file`). */
export class ServersFile {
  readonly #path: string;
  readonly #log: Log;
  #rules: readonly ServerRule[] = [];

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /**
   * The rules in the file now; those of the last time when it cannot be read. Lines that cannot be
   * obeyed are logged in dnsmasq's words and passed over.
   */
  read(): readonly ServerRule[] {
    try {
      const { rules, complaints } = parseServersFile(readFileSync(this.#path, 'utf8'), this.#path);
      for (const complaint of complaints.slice(0, MAX_COMPLAINTS)) this.#log.error(complaint);
      const more = complaints.length - MAX_COMPLAINTS;
      if (more > 0) this.#log.error(`${more} more bad lines in ${this.#path}`);
      this.#rules = rules;
    } catch (error) {
      this.#log.error(`cannot read ${this.#path}: ${systemText(error)}`);
    }
    return this.#rules;
  }
}
