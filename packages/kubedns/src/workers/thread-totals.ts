import { addFigures } from '@kube-dns/daemon';
import type { Forwarder, Listener } from '@kube-dns/transport';
import { QueryStatistics } from '../answer/query-statistics.js';
import type { Figures, ListenerFigures } from './figures.js';
import type { ZoneWorkers } from './zone-workers.js';

export interface ThreadTotalsOptions {
  /** Of the leader's own thread. */
  readonly statistics: QueryStatistics;
  readonly forwarder: Forwarder;
  readonly listener: () => Listener | undefined;
  /** Undefined without workers, and until they serve. */
  readonly pool: () => Pick<ZoneWorkers, 'figures' | 'restarts'> | undefined;
}

type ForwarderFigures = Figures['forwarder'];

/** What all threads have counted together, for a scrape; without workers what the leader has. */
export class ThreadTotals {
  readonly #options: ThreadTotalsOptions;

  constructor(options: ThreadTotalsOptions) {
    this.#options = options;
  }

  get queries(): QueryStatistics {
    const { statistics } = this.#options;
    const workers = this.#workers();
    if (workers.length === 0) return statistics;
    const total = new QueryStatistics();
    for (const figures of [statistics.figures, ...workers.map((one) => one.queries)]) {
      total.add(figures);
    }
    return total;
  }

  get forwarder(): ForwarderFigures {
    const { forwarded, failures, overflows, inFlight } = this.#options.forwarder;
    const own: ForwarderFigures = { forwarded, failures, overflows, inFlight };
    return this.#workers().reduce((total, one) => addFigures(total, one.forwarder), own);
  }

  /** Undefined until the leader listens. */
  get listener(): ListenerFigures | undefined {
    const own: ListenerFigures | undefined = this.#options.listener()?.counters;
    if (own === undefined) return undefined;
    return this.#workers().reduce((total, one) => addFigures(total, one.listener), own);
  }

  /** Messages over UDP by thread, the leader's first. */
  get workerMessages(): readonly number[] {
    const workers = this.#options.pool()?.figures ?? [];
    const own = this.#options.listener()?.counters.udpQueries ?? 0;
    return [own, ...workers.map((figures) => figures?.listener.udpQueries ?? 0)];
  }

  get workerRestarts(): number {
    return this.#options.pool()?.restarts ?? 0;
  }

  /** Errors that nobody caught in workers. */
  get unexpectedErrors(): number {
    return this.#workers().reduce((total, one) => total + one.unexpectedErrors, 0);
  }

  #workers(): Figures[] {
    return (this.#options.pool()?.figures ?? []).filter((figures) => figures !== undefined);
  }
}
