import { type FSWatcher, watch } from 'node:fs';
import { errorText } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';
import { readHostsFiles } from './hosts-files.js';
import { HostsTable } from './hosts-table.js';

export interface HostsFolderOptions {
  readonly path: string;
  /** As for {@link readHostsFiles}. */
  readonly domain: string;
  readonly log: Log;
}

/** Files are written in several steps; they are read after this time without a change. */
const SETTLE_MS = 100;

/** A directory of hosts files that is watched (`--hostsdir`): a change becomes active without SIGHUP. */
export class HostsFolder {
  readonly #options: HostsFolderOptions;
  readonly #onChange: () => void;
  #table = new HostsTable();
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #isStale = false;
  #isClosed = false;

  /** `onChange` is called with every new table. */
  constructor(options: HostsFolderOptions, onChange: () => void) {
    this.#options = options;
    this.#onChange = onChange;
  }

  get table(): HostsTable {
    return this.#table;
  }

  /** Reads the directory, and watches it from now on; a missing one is only logged. */
  async load(): Promise<void> {
    if (this.#watcher === undefined && !this.#isClosed) this.#follow();
    await this.#read();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#watcher?.close();
  }

  #follow(): void {
    const { path, log } = this.#options;
    try {
      const watcher = watch(path, () => this.#settle());
      watcher.on('error', (error) => {
        log.error(`cannot follow ${path} any more: ${errorText(error)}`);
        watcher.close();
        this.#watcher = undefined;
      });
      this.#watcher = watcher;
    } catch (error) {
      log.error(`bad dynamic directory ${path}: ${errorText(error)}`);
    }
  }

  #settle(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), SETTLE_MS).unref();
  }

  /** Never rejects: what cannot be read is logged and left out. */
  async #read(): Promise<void> {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      const table = new HostsTable();
      const { path, domain, log } = this.#options;
      await readHostsFiles(table, { paths: [path], domain, log });
      this.#table = table;
      this.#onChange();
    }
    this.#isReading = false;
  }
}
