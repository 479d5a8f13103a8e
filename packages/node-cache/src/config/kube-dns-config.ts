import { errorText } from '@kube-dns/base';
import {
  ConfigError,
  type DnsConfig,
  EMPTY_DNS_CONFIG,
  type Log,
  parseDnsConfig,
  type RefusedConfig,
} from '@kube-dns/daemon';
import { checkServers } from '../template/check-servers.js';

/** The ConfigMap kube-dns as it is read from a folder; one that is refused is logged, and the last good one stays. */
export class KubeDnsConfig {
  current: DnsConfig = EMPTY_DNS_CONFIG;
  /** ConfigMaps that were refused since the start. */
  errors = 0;
  /** The last one, if it is refused. */
  refused: RefusedConfig | undefined;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Whether the files are a ConfigMap that is obeyed. */
  take(files: ReadonlyMap<string, string>, folder: string): boolean {
    let config;
    try {
      config = parseDnsConfig(files);
    } catch (error) {
      const head = `Failed to sync kube-dns config directory ${folder}, err: `;
      return this.#refuse(head, error, folder);
    }
    try {
      checkServers(config);
    } catch (error) {
      return this.#refuse('Invalid config: ', error, folder);
    }
    this.current = config;
    this.refused = undefined;
    return true;
  }

  #refuse(head: string, error: unknown, folder: string): false {
    this.errors++;
    this.#log.error(`${head}${errorText(error)}`);
    const mistakes = error instanceof ConfigError ? error.mistakes : [errorText(error)];
    const reasons = mistakes.map((mistake) => `${folder}: ${mistake}`);
    this.refused = { atMs: Date.now(), reasons };
    return false;
  }
}
