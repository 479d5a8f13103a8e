import { readFileSync } from 'node:fs';
import { errorText, type Log } from '@kube-dns/daemon';
import { parseResolvConf, type ServerAddress } from '@kube-dns/transport';

/** The file that names the default servers (`--resolv-file`, resolv.conf(5)). */
export class ResolvFile {
  readonly #path: string;
  readonly #log: Log;
  #servers: readonly ServerAddress[] = [];

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** The servers in the file now; those of the last time when it cannot be read. */
  read(): readonly ServerAddress[] {
    try {
      this.#servers = parseResolvConf(readFileSync(this.#path, 'utf8'));
      if (this.#servers.length === 0) this.#log.warn(`no servers found in ${this.#path}`);
    } catch (error) {
      this.#log.warn(`cannot read the resolv file: ${errorText(error)}`);
    }
    return this.#servers;
  }
}
