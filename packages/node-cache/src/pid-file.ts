import { rmSync, writeFileSync } from 'node:fs';
import { pid } from 'node:process';
import { errorText } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';

/** The file of `-pidfile`, there while DNS is served; others wait for it. */
export class PidFile {
  readonly #path: string;
  readonly #log: Log;

  /** '' is none. */
  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  write(): void {
    if (this.#path === '') return;
    try {
      writeFileSync(this.#path, `${pid}\n`);
    } catch (error) {
      this.#log.error(`pidfile: ${errorText(error)}`);
    }
  }

  remove(): void {
    if (this.#path !== '') rmSync(this.#path, { force: true });
  }
}
