import { readFileSync } from 'node:fs';
import { type DnsConfig, errorText, type Log } from '@kube-dns/daemon';
import {
  parseResolvConf,
  parseServerAddress,
  type ServerAddress,
  serverText,
} from '@kube-dns/transport';

const RESOLV_CONF = '/etc/resolv.conf';

/**
 * The name servers for names outside the cluster: the configured ones, else those that resolv.conf has
 * at the moment when the configuration is applied.
 */
export class Nameservers {
  #current: readonly ServerAddress[] = [];
  readonly #log: Log;
  readonly #resolvConf: string;

  constructor(log: Log, resolvConf = RESOLV_CONF) {
    this.#log = log;
    this.#resolvConf = resolvConf;
  }

  get current(): readonly ServerAddress[] {
    return this.#current;
  }

  /** Takes the servers of a configuration or a flag, as `ip[:port]`. */
  apply(texts: DnsConfig['upstreamNameservers']): void {
    const configured = texts.flatMap((text) => parseServerAddress(text) ?? []);
    this.#current = configured.length > 0 ? configured : this.#readResolvConf();
    this.#log.info(`name servers: ${this.#current.map(serverText).join(', ') || 'none'}`);
  }

  #readResolvConf(): ServerAddress[] {
    try {
      return parseResolvConf(readFileSync(this.#resolvConf, 'utf8'));
    } catch (error) {
      this.#log.warn(`${this.#resolvConf}: ${errorText(error)}; no name servers`);
      return [];
    }
  }
}
