import { errorText, type Log, WorkerPool } from '@kube-dns/daemon';
import { type Answerer, ListenerCounters, type UdpEngine } from '@kube-dns/transport';
import type { AnswerCache } from '../cache/answer-cache.js';
import type { Interfaces } from '../listen-addresses.js';
import { EXIT_BAD_NETWORK, type ServedPort } from '../listeners.js';
import type { DnsmasqOptions } from '../options/option-values.js';
import { Epochs } from './epochs.js';
import { HandedQueries } from './handed-queries.js';
import { MemoryFeed } from './memory-feed.js';
import { clockOffsetMs } from './thread-clock.js';
import type { Change, Figures, Handed, HandedBack, WorkerStart } from './worker-messages.js';

export interface MemoryWorkersOptions {
  readonly options: DnsmasqOptions;
  readonly cache: AnswerCache;
  /** What answers at the leader's own sockets. */
  readonly answerer: Answerer;
  readonly interfaces: Interfaces;
  readonly engine: UdpEngine;
  /** Undefined until the leader serves. */
  readonly served: () => ServedPort | undefined;
  readonly log: Log;
  /** As for a `WorkerPool`. */
  readonly pauseMs?: number;
}

type Pool = WorkerPool<Change, undefined, Figures>;
type Thread = Pool['threads'][number];

/** The workers beside the leader (`--workers`), each with a copy of what is in memory. */
export class MemoryWorkers {
  readonly #options: MemoryWorkersOptions;
  readonly #epochs = new Epochs();
  readonly #feed: MemoryFeed;
  readonly #counters = new ListenerCounters();
  readonly #handed = new WeakMap<Thread, HandedQueries>();
  #pool: Pool | undefined;

  /** Follows the cache from now on. */
  constructor(options: MemoryWorkersOptions) {
    this.#options = options;
    const addresses = () => options.served()?.addresses ?? [];
    this.#feed = new MemoryFeed(options.cache, this.#epochs, addresses);
  }

  /** Starts the threads, once the leader serves; rejects with a StartupError when one cannot serve. */
  async start(script: string): Promise<void> {
    const { options, interfaces, engine, served, log, pauseMs } = this.#options;
    this.#pool = await WorkerPool.start<Change, undefined, Figures>({
      count: options.workers - 1,
      script,
      exitCode: EXIT_BAD_NETWORK,
      start: () =>
        ({
          options,
          engine: engine.name,
          port: served()!.port,
          interfaces,
          epochs: this.#epochs.memory,
          clockOffsetMs: clockOffsetMs(),
        }) satisfies WorkerStart,
      source: this.#feed,
      stamp: () => undefined,
      onSaid: (thread, message) => this.#handedBy(thread).take(message as Handed),
      closeLeft: (descriptor) => engine.closeLeft(descriptor),
      log,
      ...(pauseMs !== undefined && { pauseMs }),
    });
    log.info(`${options.workers} threads serve the UDP port`);
  }

  /** As of a `WorkerPool`. */
  get figures(): Pool['figures'] {
    return this.#pool?.figures ?? [];
  }

  /** As of a `WorkerPool`. */
  get restarts(): number {
    return this.#pool?.restarts ?? 0;
  }

  /** Queries of workers that were answered here. */
  get handed(): number {
    return this.#counters.udpQueries;
  }

  /** The threads that serve now, which tests may kill. */
  get threads(): readonly Thread[] {
    return this.#pool?.threads ?? [];
  }

  /** What only the leader can count of the workers' queries: those that a defect left without an answer. */
  get counters(): ListenerCounters {
    const counters = new ListenerCounters();
    counters.failures = this.#counters.failures;
    return counters;
  }

  /** Other hosts are in force. */
  tellHosts(): void {
    this.#feed.tellHosts();
  }

  /** Other addresses are served. */
  tellAddresses(): void {
    this.#feed.tellAddresses();
  }

  /** Ends the workers, which send first what there is to be sent; may be called twice. */
  async close(): Promise<void> {
    for (const thread of this.#pool?.threads ?? []) this.#handedBy(thread).flush();
    await this.#pool?.close();
  }

  #handedBy(thread: Thread): HandedQueries {
    let handed = this.#handed.get(thread);
    if (handed === undefined) {
      const { answerer, options, log } = this.#options;
      handed = new HandedQueries({
        answerer,
        counters: this.#counters,
        maxUdpBytes: options.maxUdpBytes,
        onFailure: (error) => log.error(`answering: ${errorText(error)}`),
        say: (back) => thread.say(back satisfies HandedBack, [back.answers.buffer]),
      });
      this.#handed.set(thread, handed);
    }
    return handed;
  }
}
