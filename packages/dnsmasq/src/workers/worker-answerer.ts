import { type Answerer, type Client, NO_ANSWER_YET } from '@kube-dns/transport';
import { appendOpt, CLASS, type Query } from '@kube-dns/wire';
import type { LocalNetworks } from '../answer/local-service.js';
import { mayReadCache } from '../cache/cacheable.js';
import type { HandOver } from './hand-over.js';
import type { MemoryReplica } from './memory-replica.js';

export interface WorkerAnswererOptions {
  readonly replica: Pick<MemoryReplica, 'cache' | 'local' | 'isCurrent'>;
  readonly handOver: Pick<HandOver, 'ask'>;
  /** The networks whose clients are answered; undefined where all are. */
  readonly networks: LocalNetworks | undefined;
  /** Types whose kept records are left out of answers, which is the leader's to do. */
  readonly filteredTypes: readonly number[];
  /** Whether queries are logged, which is the leader's to do, too. */
  readonly logsQueries: boolean;
}

/**
 * Answers what a worker knows for certain: local data and fresh answers of the cache, as the leader would
 * (DnsmasqAnswerer). Every other query is the leader's.
 */
export class WorkerAnswerer implements Answerer {
  /** Queries answered here (dnsmasq's `hits`). */
  hits = 0;
  readonly #options: WorkerAnswererOptions;
  readonly #filtered: ReadonlySet<number>;
  #hasMetForeigner = false;

  constructor(options: WorkerAnswererOptions) {
    this.#options = options;
    this.#filtered = new Set(options.filteredTypes);
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const { networks, handOver } = this.#options;
    const isForeign = networks !== undefined && !networks.has(client.address);
    if (!isForeign) {
      const length = this.#answerFromMemory(query, out, client);
      if (length > 0) {
        this.hits++;
        return length;
      }
    } else if (this.#hasMetForeigner) return NO_ANSWER_YET;
    // The leader says in the log who the first one was, and stays silent.
    else this.#hasMetForeigner = true;
    handOver.ask(query, client);
    return NO_ANSWER_YET;
  }

  #answerFromMemory(query: Query, out: Uint8Array, client: Client): number {
    const { replica, logsQueries } = this.#options;
    if (logsQueries || query.class !== CLASS.IN || !replica.isCurrent) return 0;
    const length = replica.local.answer(query, out, client);
    return length > 0 ? length : this.#answerFromCache(query, out);
  }

  #answerFromCache(query: Query, out: Uint8Array): number {
    const { cache } = this.#options.replica;
    if (!mayReadCache(query) || this.#filtered.has(query.type)) return 0;
    const length = cache.answer(query, out);
    // The leader asks for a stale one again.
    if (length === 0 || cache.isStale) return 0;
    return appendOpt(query, out, length);
  }
}
