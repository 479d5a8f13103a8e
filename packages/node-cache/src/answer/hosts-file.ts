import { statSync } from 'node:fs';
import { errorText } from '@kube-dns/base';
import { type Log, readTextFile } from '@kube-dns/daemon';
import type { Query } from '@kube-dns/wire';
import type { HostsRules } from '../corefile/server-block.js';
import { Hosts } from './hosts.js';

/** A larger file would block the loop: its names belong into the DNS that is forwarded to. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The plugin `hosts` of a block, with its file as it is now. */
export class HostsFile {
  readonly #rules: HostsRules;
  readonly #zones: readonly string[];
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout | undefined;
  #hosts: Hosts;
  /** Since 1970; 0 before it was read. */
  readAtSeconds = 0;
  #version = '';
  #failure = '';

  constructor(rules: HostsRules, zones: readonly string[], log: Log) {
    this.#rules = rules;
    this.#zones = zones;
    this.#log = log;
    this.#hosts = new Hosts(rules, '', zones);
    this.refresh();
    if (rules.reloadMs > 0) {
      this.#timer = setInterval(() => this.refresh(), rules.reloadMs).unref();
    }
  }

  /** As of Hosts. */
  get size(): number {
    return this.#hosts.size;
  }

  answer(query: Query, out: Uint8Array): number {
    return this.#hosts.answer(query, out);
  }

  /** Reads the file if it has changed; one that cannot be read leaves what it had. */
  refresh(): void {
    const { file } = this.#rules;
    try {
      const { mtimeMs, size, ino } = statSync(file);
      const version = `${ino} ${size} ${mtimeMs}`;
      if (version === this.#version) return;
      if (size > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`);
      this.#hosts = new Hosts(this.#rules, readTextFile(file), this.#zones);
      this.#version = version;
      this.readAtSeconds = Date.now() / 1_000;
      this.#failure = '';
    } catch (error) {
      const failure = errorText(error);
      if (failure !== this.#failure) this.#log.warn(`plugin/hosts: ${file}: ${failure}`);
      this.#failure = failure;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
