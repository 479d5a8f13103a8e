import { type Log, WorkerPool, type WorkerPoolOptions } from '@kube-dns/daemon';
import type { Figures } from './figures.js';
import type { Change, Facts, WorkerStart } from './worker-messages.js';
import { zoneChanges } from './zone-changes.js';
import type { ZoneFeed } from './zone-feed.js';

export interface ZoneWorkersOptions {
  /** How many threads there are besides the leader's. */
  readonly count: number;
  /** The file that they run, which calls `runWorker`. */
  readonly script: string;
  readonly start: Omit<WorkerStart, 'serial'>;
  readonly feed: ZoneFeed;
  readonly facts: () => Facts;
  /** The serial of the leader's zone. */
  readonly serial: () => number;
  readonly closeLeft: (descriptor: number) => void;
  readonly log: Log;
  /** As for a `WorkerPool`. */
  readonly pauseMs?: number;
}

type Pool = WorkerPool<Change, number, Figures>;

const EXIT_CANNOT_BIND = 1;

/** The workers beside the leader, each with a copy of its zone. */
export class ZoneWorkers {
  readonly #pool: Pool;
  readonly #synced: WeakSet<object>;

  private constructor(pool: Pool, synced: WeakSet<object>) {
    this.#pool = pool;
    this.#synced = synced;
  }

  /** Starts them; rejects with a StartupError when one of them cannot serve. */
  static async start(options: ZoneWorkersOptions): Promise<ZoneWorkers> {
    const { start, feed, facts, serial, ...others } = options;
    const synced = new WeakSet<object>();
    const poolOptions: WorkerPoolOptions<Change, number, Figures> = {
      ...others,
      exitCode: EXIT_CANNOT_BIND,
      start: () => ({ ...start, serial: serial() }) satisfies WorkerStart,
      source: zoneChanges(feed, facts),
      stamp: serial,
      onTook: (thread, changes) => {
        for (const change of changes) {
          if (change[0] !== 'facts') continue;
          if (change[1].isSynced) synced.add(thread);
          else synced.delete(thread);
        }
      },
      ended: (figures) => ({ ...figures, forwarder: { ...figures.forwarder, inFlight: 0 } }),
    };
    return new ZoneWorkers(await WorkerPool.start(poolOptions), synced);
  }

  /** Whether every worker that serves knows the cluster, once the leader does. */
  get isSynced(): boolean {
    return this.threads.every((thread) => this.#synced.has(thread) || !thread.isServing);
  }

  /** As of a `WorkerPool`. */
  get restarts(): number {
    return this.#pool.restarts;
  }

  /** As of a `WorkerPool`. */
  get figures(): Pool['figures'] {
    return this.#pool.figures;
  }

  /** The threads that serve now, which tests may kill. */
  get threads(): Pool['threads'] {
    return this.#pool.threads;
  }

  /** Ends the workers; may be called twice. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}
