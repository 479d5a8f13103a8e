import { errorText, type Leader, serveAsWorker, type WorkerTask } from '@kube-dns/daemon';
import { chooseUdpEngine, Forwarder, type Listener, listenUdp } from '@kube-dns/transport';
import { composeAnswerer, UPSTREAM_DEADLINE_MS } from '../answer/composition.js';
import { QueryStatistics } from '../answer/query-statistics.js';
import type { Figures } from './figures.js';
import { ToldNames } from './told-names.js';
import type { Change, Facts, WorkerStart } from './worker-messages.js';
import { ZoneReplica } from './zone-replica.js';

/** Serves as the thread of a worker, which another thread has started and tells what to do. */
export function runWorker(): void {
  serveAsWorker((start, leader) => new Worker(start as WorkerStart, leader));
}

/** Answers over UDP from a copy of the leader's zone; everything else is the leader's. */
class Worker implements WorkerTask<Change, number, Figures> {
  readonly #start: WorkerStart;
  readonly #leader: Leader;
  readonly #statistics = new QueryStatistics();
  readonly #names = new ToldNames();
  readonly #forwarder: Forwarder;
  readonly #replica: ZoneReplica;
  #listener: Listener | undefined;
  #isSynced = false;

  constructor(start: WorkerStart, leader: Leader) {
    this.#start = start;
    this.#leader = leader;
    const { flags, maxInFlight, serial } = start;
    this.#forwarder = new Forwarder({ maxInFlight, deadlineMs: UPSTREAM_DEADLINE_MS });
    const zoneOptions = { domain: flags.domain, negativeTtlSeconds: flags['negative-ttl'] };
    this.#replica = new ZoneReplica(zoneOptions, serial, (facts) => this.#takeFacts(facts));
  }

  take(changes: readonly Change[], serial: number): void {
    this.#replica.take({ changes, serial });
  }

  async serve(): Promise<void> {
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
    const onFailure = (error: unknown) => this.#leader.complain(`answering: ${errorText(error)}`);
    this.#listener = await listenUdp({ answerer, address, port, engine, onFailure });
    const { descriptor } = this.#listener;
    if (descriptor !== undefined) this.#leader.leaveOpen([descriptor]);
  }

  async close(): Promise<void> {
    this.#leader.leaveOpen([]);
    await this.#listener?.close();
    this.#forwarder.close();
  }

  figures(): Figures {
    const { forwarded, failures, overflows, inFlight } = this.#forwarder;
    return {
      queries: this.#statistics.figures,
      listener: this.#listener!.counters,
      forwarder: { forwarded, failures, overflows, inFlight },
      unexpectedErrors: this.#leader.unexpectedErrors,
    };
  }

  #takeFacts(facts: Facts): void {
    this.#names.take(facts);
    this.#isSynced = facts.isSynced;
  }
}
