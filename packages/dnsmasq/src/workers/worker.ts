import { errorText, type Leader, serveAsWorker, type WorkerTask } from '@kube-dns/daemon';
import { chooseUdpEngine, listenUdp, type UdpEngine } from '@kube-dns/transport';
import { servedNetworks } from '../answer/local-service.js';
import { HandOver } from './hand-over.js';
import { MemoryReplica } from './memory-replica.js';
import { WorkerAnswerer } from './worker-answerer.js';
import { WorkerListeners } from './worker-listeners.js';
import type { Change, Figures, Handed, HandedBack, WorkerStart } from './worker-messages.js';

/** Serves as the thread of a worker, which another thread has started and tells what to do. */
export function runWorker(): void {
  serveAsWorker((start, leader) => new Worker(start as WorkerStart, leader));
}

/** Answers over UDP from a copy of the leader's memory, and hands everything else to the leader. */
class Worker implements WorkerTask<Change, undefined, Figures> {
  readonly #start: WorkerStart;
  readonly #leader: Leader;
  readonly #replica: MemoryReplica;
  readonly #handOver: HandOver;
  readonly #answerer: WorkerAnswerer;
  readonly #listeners: WorkerListeners;
  #engine: UdpEngine | undefined;

  constructor(start: WorkerStart, leader: Leader) {
    this.#start = start;
    this.#leader = leader;
    const { options, interfaces } = start;
    this.#listeners = this.#createListeners();
    this.#replica = new MemoryReplica(start, (addresses) =>
      this.#listeners.setAddresses(addresses),
    );
    this.#handOver = new HandOver((parcel) => leader.say(parcel satisfies Handed, [parcel.buffer]));
    this.#answerer = new WorkerAnswerer({
      replica: this.#replica,
      handOver: this.#handOver,
      networks: servedNetworks(options, interfaces),
      filteredTypes: options.filteredTypes,
      logsQueries: options.logsQueries !== 'no',
    });
  }

  take(changes: readonly Change[]): void {
    this.#replica.take(changes);
  }

  hear(message: unknown): void {
    this.#engine?.sendTogether(() => this.#handOver.take(message as HandedBack));
  }

  async serve(): Promise<void> {
    ({ engine: this.#engine } = await chooseUdpEngine(this.#start.engine));
    await this.#listeners.serve();
  }

  async close(): Promise<void> {
    this.#handOver.close();
    await this.#listeners.close();
    this.#replica.close();
  }

  figures(): Figures {
    return {
      hits: this.#answerer.hits,
      listener: this.#listeners.figures,
      unexpectedErrors: this.#leader.unexpectedErrors,
    };
  }

  #createListeners(): WorkerListeners {
    const { port, options } = this.#start;
    const complain = (error: unknown) => this.#leader.complain(errorText(error));
    return new WorkerListeners({
      open: (address) =>
        listenUdp({
          answerer: this.#answerer,
          address,
          port,
          maxUdpBytes: options.maxUdpBytes,
          ...(this.#engine && { engine: this.#engine }),
          onFailure: (error) => this.#leader.complain(`answering: ${errorText(error)}`),
        }),
      mayMiss: options.binding === 'dynamic',
      onMissed: complain,
      onDescriptors: (descriptors) => this.#leader.leaveOpen(descriptors),
    });
  }
}
