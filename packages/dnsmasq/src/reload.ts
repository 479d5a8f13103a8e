import type { Log } from '@kube-dns/daemon';
import type { QueryForwarder } from '@kube-dns/transport';
import type { AnswerCache } from '@kube-dns/resolver';
import type { LocalData } from './local/local-data.js';
import type { CacheTotals } from './metrics/metric-families.js';
import type { DnsmasqOptions } from './options/option-table.js';
import type { ServerRule } from './options/server-value.js';
import type { RouterEvents } from './routing/router.js';

export interface ReloadOptions {
  readonly cache: Pick<AnswerCache, 'clear' | 'dropBelow' | 'dropNotified'>;
  readonly cacheTotals: Pick<CacheTotals, 'retain'>;
  readonly forwarder: Pick<QueryForwarder, 'forgetQuestions'>;
  readonly local: Pick<LocalData, 'reload' | 'useServerRules'>;
  readonly options: Pick<DnsmasqOptions, 'clearsOnReload'>;
  /** Answers may be others now. */
  readonly onChange: () => void;
  readonly log: Pick<Log, 'info'>;
}

/** What a reload, each change of the routes, and a NOTIFY does to the cache, the local data and the queries in flight. */
export class Reload implements RouterEvents {
  readonly #parts: ReloadOptions;

  constructor(parts: ReloadOptions) {
    this.#parts = parts;
  }

  /** Empties the cache and reads the hosts files again (dnsmasq src/dnsmasq.c, clear_cache_and_reload). */
  clear(): void {
    const { cache, cacheTotals, local, log } = this.#parts;
    cacheTotals.retain();
    cache.clear();
    log.info('cleared cache');
    this.#parts.onChange();
    void local.reload();
  }

  onRulesRead(rules: readonly ServerRule[]): void {
    this.#parts.local.useServerRules(rules);
  }

  onRoutesChanged(): void {
    this.#parts.forwarder.forgetQuestions();
    this.#parts.onChange();
  }

  onDomainsChanged(domains: readonly Uint8Array[]): void {
    for (const domain of domains) this.#parts.cache.dropBelow(domain);
    this.#parts.onChange();
  }

  /** A NOTIFY for a name of a zone: replies about the zone that are on their way may be older. */
  onNameChanged(name: Uint8Array, zone: Uint8Array): void {
    const { cache, forwarder } = this.#parts;
    cache.dropNotified(name, zone);
    forwarder.forgetQuestions(zone);
    this.#parts.onChange();
  }

  onResolvFileChanged(): void {
    if (this.#parts.options.clearsOnReload) this.clear();
  }
}
