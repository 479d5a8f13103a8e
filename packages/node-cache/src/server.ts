import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '@kube-dns/base';
import { collectGarbage, type Log } from '@kube-dns/daemon';
import { Subscriptions } from '@kube-dns/push';
import { LoopDetector } from '@kube-dns/resolver';
import type {
  AnswerObserver,
  ExchangeObserver,
  ServerAddress,
  UdpEngine,
} from '@kube-dns/transport';
import { EVERY_ADDRESS } from '@kube-dns/wire';
import { Blocks } from './answer/blocks.js';
import { ClusterSnapshot } from './answer/cluster-snapshot.js';
import { Upstreams } from './answer/upstreams.js';
import type { ServerBlock } from './corefile/server-block.js';
import { HealthEndpoints } from './http-endpoints.js';
import { ListenPoints } from './listen/listen-points.js';
import { SelfProbe } from './listen/self-probe.js';
import type { NetworkSetup } from './network/network-setup.js';

interface NodeCacheServerOptions {
  readonly engine: UdpEngine;
  readonly reusesPort: boolean;
  /** Of the TCP connections of clients, in milliseconds; 0 is no limit. */
  readonly maxTcpAgeMs: number;
  /** The file that cached answers of the cluster are in through a restart; '' for none. */
  readonly snapshotFile: string;
  /** How long it answers after `close` was called, in milliseconds; `lameduck` of the Corefile counts where it is longer. */
  readonly drainMs: number;
  /** The address of the cluster's DNS, once it is known. */
  readonly clusterServer: () => ServerAddress | undefined;
  readonly network: Pick<
    NetworkSetup,
    'prepare' | 'addRules' | 'beat' | 'removeRules' | 'removeInterface'
  >;
  /** Sees the queries of clients, and their answers. */
  readonly observer?: AnswerObserver;
  /** Sees what servers are asked for them, and reply. */
  readonly exchanges?: ExchangeObserver | undefined;
  readonly log: Log;
}

/** The parts of a running node-cache. */
export class NodeCacheServer {
  readonly subscriptions: Subscriptions;
  readonly points: ListenPoints;
  readonly upstreams: Upstreams;
  readonly blocks: Blocks;
  readonly endpoints: HealthEndpoints;
  readonly probe: SelfProbe;
  /** Undefined without a file. */
  readonly snapshot: ClusterSnapshot | undefined;
  readonly #options: NodeCacheServerOptions;
  readonly #loops: LoopDetector;
  #served: readonly ServerBlock[] = [];
  /** One Corefile at a time. */
  #turn: Promise<void> = Promise.resolve();
  #isAnswering = false;
  #hasRules = false;
  #waits = 0;
  #isEnding = false;

  /** Builds the parts, each from those above it. */
  constructor(options: NodeCacheServerOptions) {
    const { engine, reusesPort, maxTcpAgeMs, observer, clusterServer, exchanges, log } = options;
    this.#options = options;
    const loops = new LoopDetector(log);
    const subscriptions = new Subscriptions({ log });
    this.probe = new SelfProbe(reusesPort);
    const questions = { probe: this.probe, loops };
    const served = { engine, reusesPort, maxTcpAgeMs, own: questions, observer, log };
    const points = new ListenPoints(served);
    const upstreams = new Upstreams({ engine, own: points, loops, subscriptions, log });
    subscriptions.reportTo(upstreams);
    this.#loops = loops;
    this.subscriptions = subscriptions;
    this.points = points;
    this.upstreams = upstreams;
    this.blocks = new Blocks({
      upstreams,
      subscriptions,
      loops,
      own: points,
      clusterServer,
      exchanges,
      log,
    });
    const { snapshotFile: path } = options;
    const { blocks } = this;
    this.snapshot =
      path === '' ? undefined : new ClusterSnapshot({ path, blocks, subscriptions, log });
    this.endpoints = new HealthEndpoints({ isReady: () => this.isReady, log });
  }

  /** Whether pods may be sent here: it answers, all its servers are known, and it is not about to end. */
  get isReady(): boolean {
    return this.#isAnswering && !this.#isEnding && this.blocks.all.every(({ isReady }) => isReady);
  }

  /** Makes the interface, so that its addresses can be listened on. */
  async prepare(): Promise<void> {
    await this.#options.network.prepare();
  }

  /**
   * Serves these blocks from now on. Rejects with a StartupError for what cannot be opened or read; what was served
   * before goes on then.
   */
  apply(blocks: readonly ServerBlock[]): Promise<void> {
    const done = this.#turn.then(() => this.#apply(blocks));
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /**
   * Takes the rules out while it still answers, answers for the time of the drain what comes all the same, then ends.
   * May be called twice.
   */
  async close(): Promise<void> {
    const { network } = this.#options;
    this.#isEnding = true;
    await network.removeRules();
    await delay(this.#drainMs);
    this.probe.close();
    this.#loops.close();
    await this.points.leave();
    await this.blocks.settle();
    await this.snapshot?.close();
    await this.points.close();
    await network.removeInterface();
    await this.endpoints.close();
    this.subscriptions.close();
    await this.blocks.close();
    this.upstreams.close();
  }

  get #drainMs(): number {
    const lameducks = this.#served.map(({ health }) => health?.lameduckMs ?? 0);
    return Math.max(this.#options.drainMs, ...lameducks);
  }

  async #apply(blocks: readonly ServerBlock[]): Promise<void> {
    if (this.snapshot?.isStarted === false) {
      // Before its ports are there: what comes to one that serves nothing yet is refused.
      this.blocks.apply(blocks);
      await this.snapshot.start();
    }
    await this.points.open(blocks);
    try {
      this.blocks.apply(blocks);
      this.#served = blocks;
    } finally {
      // After a failure those before, which closes what was opened for the others.
      await this.points.serve(this.blocks.all);
    }
    await this.endpoints.serve(blocks);
    this.blocks.probeLoops();
    this.probe.start(this.#probedServer(), () => this.#noteAnswer());
  }

  /** With the rules in, pods have no other DNS: not before the cluster's has answered through this one. */
  #mayTakeOver(): boolean {
    if (this.blocks.hasClusterReplied()) return true;
    // The first time it was only asked.
    if (++this.#waits === 2) {
      this.#options.log.warn('rules wait for the DNS of the cluster to answer');
    }
    return false;
  }

  #probedServer(): ServerAddress | undefined {
    const [first] = this.points.addresses;
    if (first === undefined) return undefined;
    return first.address === EVERY_ADDRESS ? { ...first, address: '127.0.0.1' } : first;
  }

  #noteAnswer(): void {
    // All is loaded now, and pods are not sent here yet.
    if (!this.#isAnswering) collectGarbage();
    this.#isAnswering = true;
    const { network, log } = this.#options;
    network.beat();
    if (this.#hasRules || !this.isReady || !this.#mayTakeOver()) return;
    this.#hasRules = true;
    network.addRules().catch((error: unknown) => log.error(`rules: ${errorText(error)}`));
  }
}
