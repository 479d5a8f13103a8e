import type { CountedListener } from '@kube-dns/daemon';
import type { DnsmasqAnswerer } from '../answer/dnsmasq-answerer.js';
import type { MemoryWorkers } from './memory-workers.js';
import type { Figures } from './worker-messages.js';

export interface ThreadTotalsOptions {
  /** Of the leader's own thread. */
  readonly answerer: () => Pick<DnsmasqAnswerer, 'hits' | 'misses' | 'staleAnswers'>;
  readonly listeners: () => readonly CountedListener[];
  /** Undefined without workers. */
  readonly workers: Pick<MemoryWorkers, 'figures' | 'restarts' | 'counters' | 'handed'> | undefined;
}

/** What all threads have counted together; without workers what the leader has. */
export class ThreadTotals {
  readonly #options: ThreadTotalsOptions;

  constructor(options: ThreadTotalsOptions) {
    this.#options = options;
  }

  get hits(): number {
    return this.#figures.reduce((total, { hits }) => total + hits, this.#options.answerer().hits);
  }

  /** The leader's alone: nobody else asks name servers. */
  get misses(): number {
    return this.#options.answerer().misses;
  }

  /** The leader's alone, like `misses`. */
  get staleAnswers(): number {
    return this.#options.answerer().staleAnswers;
  }

  get listeners(): readonly CountedListener[] {
    const { workers } = this.#options;
    const own = this.#options.listeners();
    const engine = own[0]?.engine;
    if (workers === undefined || engine === undefined) return own;
    const others = this.#figures.map(({ listener }) => ({ engine, counters: listener }));
    return [...own, ...others, { engine, counters: workers.counters }];
  }

  /** Messages over UDP by thread, the leader's first. */
  get workerMessages(): readonly number[] {
    const own = this.#options.listeners().map(({ counters }) => counters.udpQueries);
    const workers = this.#options.workers?.figures ?? [];
    const sum = own.reduce((total, one) => total + one, 0);
    return [sum, ...workers.map((figures) => figures?.listener.udpQueries ?? 0)];
  }

  /** Queries that workers left to the leader. */
  get handed(): number {
    return this.#options.workers?.handed ?? 0;
  }

  get workerRestarts(): number {
    return this.#options.workers?.restarts ?? 0;
  }

  /** Errors that nobody caught in workers. */
  get unexpectedErrors(): number {
    return this.#figures.reduce((total, { unexpectedErrors }) => total + unexpectedErrors, 0);
  }

  get #figures(): readonly Figures[] {
    const figures = this.#options.workers?.figures ?? [];
    return figures.filter((one) => one !== undefined);
  }
}
