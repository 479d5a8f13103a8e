import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorText } from '@kube-dns/base';
import { type Log, readTextFile, StartupError } from '@kube-dns/daemon';
import { parseResolvConf, type ServerAddress } from '@kube-dns/transport';

export interface ResolvFilesOptions {
  /** At least one; the one that changed last is used. */
  readonly paths: readonly string[];
  readonly log: Log;
  /** How often the files are checked; one second as in dnsmasq unless given. */
  readonly periodMs?: number;
}

/** dnsmasq's exit code for a missing directory (src/dnsmasq.h, EC_MISC). */
const EXIT_MISSING_DIRECTORY = 5;
const PERIOD_MS = 1_000;
/** dnsmasq src/network.c, reload_servers. */
const KEYWORDS = ['nameserver', 'server'];

/** The files that name the default servers (`--resolv-file`, resolv.conf(5)). */
export class ResolvFiles {
  readonly #options: ResolvFilesOptions;
  /** The file that was read last. */
  path: string;
  #servers: readonly ServerAddress[] = [];
  /** The version of each file when it was last read, by path. */
  #seen = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;

  constructor(options: ResolvFilesOptions) {
    this.#options = options;
    this.path = options.paths[0] ?? '';
  }

  /** Throws a StartupError when the directory of a file is missing. */
  check(): void {
    for (const path of this.#options.paths) {
      if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() === true) continue;
      const message = `directory ${path} for resolv-file is missing, cannot poll`;
      throw new StartupError(message, EXIT_MISSING_DIRECTORY);
    }
  }

  /** The servers in the newest file now; those of the last read when none can be read. */
  read(): readonly ServerAddress[] {
    const { paths, log } = this.#options;
    const stats = paths.map((path) => ({ path, ...statOf(path) }));
    this.#seen = new Map(stats.map(({ path, version }) => [path, version]));
    const newest = stats.reduce((best, each) => (each.changedMs > best.changedMs ? each : best));
    try {
      const servers = parseResolvConf(readTextFile(newest.path), KEYWORDS);
      this.#isFailing = false;
      this.#servers = servers;
      this.path = newest.path;
      if (servers.length > 0) log.info(`reading ${newest.path}`);
      else log.warn(`no servers found in ${newest.path}, will retry`);
    } catch (error) {
      // The file is read repeatedly; its error is logged once.
      if (!this.#isFailing) log.warn(`failed to access ${newest.path}: ${errorText(error)}`);
      this.#isFailing = true;
    }
    return this.#servers;
  }

  /** Calls back for each change of the files from the last `read` on. */
  follow(onChange: () => void): void {
    this.#timer ??= setInterval(() => {
      if (this.#hasChanged()) onChange();
    }, this.#options.periodMs ?? PERIOD_MS).unref();
  }

  /** May be called twice. */
  close(): void {
    clearInterval(this.#timer);
  }

  /** A deleted file is no change: its servers stay. */
  #hasChanged(): boolean {
    return this.#options.paths.some((path) => {
      const { version } = statOf(path);
      return version !== '' && version !== this.#seen.get(path);
    });
  }
}

/** A text that differs for each state of a file; an empty version when the file is missing. */
function statOf(path: string): { version: string; changedMs: number } {
  try {
    const { mtimeMs, size, ino, ctimeMs } = statSync(path);
    return { version: `${ino} ${size} ${mtimeMs} ${ctimeMs}`, changedMs: mtimeMs };
  } catch {
    return { version: '', changedMs: Number.NEGATIVE_INFINITY };
  }
}
