import { createLog } from '@kube-dns/daemon';
import { NodeCacheServer, readServerBlocks } from '@kube-dns/node-cache/internal';
import { becomesTrue, MeasureError, monotonicMs, type Spread, spreadOf } from '@kube-dns/testkit';
import { chooseUdpEngine } from '@kube-dns/transport';
import { decodeName } from '@kube-dns/wire';
import type { NotedChange } from '../cluster/bench-cluster.js';
import { ZONE } from '../cluster/cluster-plan.js';
import { timesByName } from './subscriber-crowd.js';

/** Where node-caches listen, and whom they ask. */
export interface NodeCachePlace {
  readonly addresses: readonly string[];
  readonly port: number;
  /** At 127.0.0.1. */
  readonly serverPort: number;
}

/** The methods of node-caches that share a process. */
export interface NodeCacheCrowdMethods {
  /** Starts one at each address; resolves when all of them get the changes of the zone. */
  start(place: NodeCachePlace): Promise<void>;
  /** Counts from now on. */
  startCount(): void;
  /** What came since `startCount` of these changes, which were written since then. */
  counted(changes: readonly NotedChange[]): NodeCacheCount;
}

/** What node-caches got and had, all together. */
export interface NodeCacheCount {
  readonly live: number;
  /** From the write of an object until a cache has dropped the name, in milliseconds. */
  readonly ms: Spread;
  /** The share of the changes that got to a cache; of two of a name at nearly the same time one may stand for both. */
  readonly announced: number;
  /** Answers of the zone that are cached at the end, and the least share that was pinned in any second. */
  readonly zoneAnswers: number;
  readonly leastCoverage: number;
}

const START_LIMIT_MS = 60_000;
const STEP_MS = 50;
const LOOK_MS = 1_000;

const done = () => Promise.resolve();
/** Rules and interfaces are the host's: none are made. */
const NO_NETWORK = {
  prepare: done,
  addRules: done,
  beat: () => undefined,
  removeRules: done,
  removeInterface: done,
};

/** A node-cache for each address, with the parts that the program has; what each learns is noted. */
export class NodeCacheCrowd implements NodeCacheCrowdMethods {
  #caches: readonly NodeCacheServer[] = [];
  /** By name without final dot: when a cache had dropped it. */
  readonly #droppedMs = new Map<string, number[]>();
  #leastCoverage = 1;

  async start({ addresses, port, serverPort }: NodeCachePlace): Promise<void> {
    const { engine } = await chooseUdpEngine('auto');
    const server = { address: '127.0.0.1', port: serverPort };
    const log = createLog({ name: 'node-cache', verbosity: 0, write: () => undefined });
    this.#caches = addresses.map(
      () =>
        new NodeCacheServer({
          engine,
          reusesPort: false,
          maxTcpAgeMs: 0,
          snapshotFile: '',
          drainMs: 0,
          clusterServer: () => server,
          network: NO_NETWORK,
          log,
        }),
    );
    for (const [at, address] of addresses.entries()) {
      const cache = this.#caches[at]!;
      const corefile = `${ZONE}:${port} {\nbind ${address}\ncache 30\nforward . ${server.address}:${serverPort} {\nprefer_udp\n}\n}\n`;
      await cache.apply(readServerBlocks(corefile, 'Corefile'));
      cache.subscriptions.passOnTo({
        onLive: () => undefined,
        onChanged: (_, name) => this.#note(decodeName(name)),
        onFlushed: () => undefined,
        onEnded: () => undefined,
      });
    }
    const areLive = () => this.#live === addresses.length;
    if (!(await becomesTrue(areLive, { limitMs: START_LIMIT_MS, stepMs: STEP_MS })))
      throw new MeasureError(`${this.#live} of ${addresses.length} node-caches get changes`);
  }

  startCount(): void {
    this.#droppedMs.clear();
    this.#leastCoverage = 1;
    setInterval(() => {
      const { coverage } = this.#pinned;
      this.#leastCoverage = Math.min(this.#leastCoverage, coverage);
    }, LOOK_MS).unref();
  }

  counted(changes: readonly NotedChange[]): NodeCacheCount {
    const spans: number[] = [];
    let announced = 0;
    for (const [name, ofName] of timesByName(changes)) {
      const dropped = this.#droppedMs.get(name) ?? [];
      announced += Math.min(dropped.length, ofName.length * this.#caches.length);
      for (const droppedMs of dropped) {
        const lastMs = ofName.findLast((atMs) => atMs <= droppedMs);
        if (lastMs !== undefined) spans.push(droppedMs - lastMs);
      }
    }
    return {
      live: this.#live,
      ms: spreadOf(spans),
      announced: announced / changes.length / this.#caches.length,
      zoneAnswers: this.#pinned.all,
      leastCoverage: this.#leastCoverage,
    };
  }

  #note(name: string): void {
    const nowMs = monotonicMs();
    const known = this.#droppedMs.get(name);
    if (known === undefined) this.#droppedMs.set(name, [nowMs]);
    else known.push(nowMs);
  }

  get #rows() {
    return this.#caches.flatMap(({ subscriptions }) => subscriptions.rows());
  }

  get #live(): number {
    return this.#rows.filter(({ state }) => state === 'live').length;
  }

  get #pinned(): { readonly all: number; readonly coverage: number } {
    let pinned = 0;
    let all = 0;
    for (const row of this.#rows) {
      pinned += row.pinnedAnswers;
      all += row.zoneAnswers;
    }
    return { all, coverage: all === 0 ? 1 : pinned / all };
  }
}
