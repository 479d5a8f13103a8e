import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { errorText } from '@kube-dns/daemon';
import { chooseUdpEngine, Forwarder, type Listener, listenUdp } from '@kube-dns/transport';
import { composeAnswerer, UPSTREAM_DEADLINE_MS } from '../answer/composition.js';
import { QueryStatistics } from '../answer/query-statistics.js';
import type { Figures } from './figures.js';
import { ToldNames } from './told-names.js';
import type { Facts, Order, Report, WorkerStart } from './worker-messages.js';
import { ZoneReplica } from './zone-replica.js';

/** So old are the figures of a worker at most when they are scraped. */
const FIGURES_MS = 100;

/** Serves as the thread of a worker, which another thread has started and tells what to do. */
export function runWorker(): void {
  new Worker(parentPort!, workerData as WorkerStart).start();
}

/** Answers over UDP from a copy of the leader's zone; everything else is the leader's. */
class Worker {
  readonly #port: MessagePort;
  readonly #start: WorkerStart;
  readonly #statistics = new QueryStatistics();
  readonly #names = new ToldNames();
  readonly #forwarder: Forwarder;
  readonly #replica: ZoneReplica;
  #listener: Listener | undefined;
  #isSynced = false;
  #isClosing = false;
  #unexpectedErrors = 0;
  #figuresTimer: NodeJS.Timeout | undefined;
  #lastFigures = '';

  constructor(port: MessagePort, start: WorkerStart) {
    this.#port = port;
    this.#start = start;
    const { flags, maxInFlight, serial } = start;
    this.#forwarder = new Forwarder({ maxInFlight, deadlineMs: UPSTREAM_DEADLINE_MS });
    const zoneOptions = { domain: flags.domain, negativeTtlSeconds: flags['negative-ttl'] };
    this.#replica = new ZoneReplica(zoneOptions, serial, (facts) => this.#takeFacts(facts));
  }

  start(): void {
    const onUnexpected = (error: unknown) => {
      this.#unexpectedErrors++;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#report({ kind: 'error', text: `unexpected error, going on: ${text}` });
    };
    process.on('uncaughtException', onUnexpected);
    process.on('unhandledRejection', onUnexpected);
    this.#port.on('message', (order: Order) => this.#obey(order));
    this.#figuresTimer = setInterval(() => this.#reportFigures(), FIGURES_MS);
  }

  #obey(order: Order): void {
    switch (order.kind) {
      case 'batch':
        this.#replica.take(order);
        this.#report({ kind: 'took' });
        break;
      case 'serve':
        void this.#serve();
        break;
      case 'close':
        void this.#close();
    }
  }

  #takeFacts(facts: Facts): void {
    this.#names.take(facts);
    this.#isSynced = facts.isSynced;
  }

  async #serve(): Promise<void> {
    try {
      this.#listener = await this.#listen();
    } catch (error) {
      this.#report({ kind: 'failed', reason: errorText(error) });
      await this.#close();
      return;
    }
    if (this.#isClosing) await this.#listener.close();
    else this.#report({ kind: 'serving', descriptor: this.#listener.descriptor });
  }

  async #listen(): Promise<Listener> {
    const { flags, version, address, port, engine: name } = this.#start;
    const { engine } = await chooseUdpEngine(name);
    const answerer = composeAnswerer({
      flags,
      version,
      zone: this.#replica.zone,
      forwarder: this.#forwarder,
      upstreams: this.#names,
      federations: this.#names,
      statistics: this.#statistics,
      isSynced: () => this.#isSynced,
    });
    const onFailure = (error: unknown) =>
      this.#report({ kind: 'error', text: `answering: ${errorText(error)}` });
    return listenUdp({ answerer, address, port, engine, onFailure });
  }

  /** Ends the thread, as nothing is left that it could wait for. */
  async #close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#report({ kind: 'closing' });
    await this.#listener?.close();
    this.#forwarder.close();
    clearInterval(this.#figuresTimer);
    this.#reportFigures();
    this.#port.close();
  }

  #reportFigures(): void {
    if (this.#listener === undefined) return;
    const { forwarded, failures, overflows, inFlight } = this.#forwarder;
    const figures: Figures = {
      queries: this.#statistics.figures,
      listener: this.#listener.counters,
      forwarder: { forwarded, failures, overflows, inFlight },
      unexpectedErrors: this.#unexpectedErrors,
    };
    const text = JSON.stringify([figures.queries.requests, figures.listener, figures.forwarder]);
    if (text === this.#lastFigures) return;
    this.#lastFigures = text;
    this.#report({ kind: 'figures', figures });
  }

  #report(report: Report): void {
    this.#port.postMessage(report);
  }
}
