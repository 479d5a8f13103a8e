import type { Log } from '@kube-dns/daemon';
import type { AnswerCache, LoopDetector } from '@kube-dns/resolver';
import type { ExchangeObserver, ServerAddress, ServerGroup } from '@kube-dns/transport';
import type { ServerBlock } from '../corefile/server-block.js';
import { BlockServers } from './block-servers.js';
import type { ClusterSubscriptions } from './cluster-subscriptions.js';
import { HostsFile } from './hosts-file.js';
import { ServedBlock } from './served-block.js';
import type { Upstreams } from './upstreams.js';

export interface BlocksOptions {
  readonly upstreams: Upstreams;
  readonly subscriptions: ClusterSubscriptions;
  readonly loops: LoopDetector;
  /** The address of the cluster's DNS, once it is known. */
  readonly clusterServer: () => ServerAddress | undefined;
  /** Sees what servers are asked, and reply. */
  readonly exchanges: ExchangeObserver | undefined;
  readonly log: Log;
}

/** A block that is served, and what it was made of. */
interface Running {
  readonly key: string;
  readonly served: ServedBlock;
  readonly servers: BlockServers | undefined;
  readonly hosts: HostsFile | undefined;
}

/** How often resolv files are looked at. */
const REFRESH_MS = 1_000;

/** The blocks of the Corefile that is obeyed now. One that a new Corefile leaves as it is keeps its cache. */
export class Blocks {
  readonly #options: BlocksOptions;
  #running: readonly Running[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BlocksOptions) {
    this.#options = options;
  }

  get all(): readonly ServedBlock[] {
    return this.#running.map(({ served }) => served);
  }

  /** The caches of the blocks that the cluster's DNS answers for. */
  *clusterCaches(): Generator<AnswerCache> {
    for (const { served } of this.#running) {
      if (served.isOfCluster && served.cache !== undefined) yield served.cache;
    }
  }

  /**
   * Serves these blocks from now on, in this order. Throws a StartupError for a file that is missing or broken; the
   * blocks before stay then.
   */
  apply(blocks: readonly ServerBlock[]): readonly ServedBlock[] {
    const before = new Map(this.#running.map((running) => [running.key, running]));
    const next = blocks.map((block) => {
      const key = this.#keyOf(block);
      const known = before.get(key);
      before.delete(key);
      if (known === undefined) return this.#create(block, key);
      known.served.block = block;
      return known;
    });
    this.#running = next;
    this.#retain();
    for (const { served, hosts } of before.values()) {
      hosts?.close();
      void served.close();
    }
    this.#followCluster();
    this.#timer ??= setInterval(() => this.refresh(), REFRESH_MS).unref();
    return this.all;
  }

  /** Whether the cluster's DNS has replied to this process; it is asked until it has. Without one there is none to wait for. */
  hasClusterReplied(): boolean {
    const groups = this.#clusterGroups();
    const isSilent = groups.every(({ repliedAtMs }) => repliedAtMs === Number.NEGATIVE_INFINITY);
    if (groups.length === 0 || !isSilent) return true;
    for (const group of groups) group.look(performance.now());
    return false;
  }

  /** Looks for servers that forward to this process, where the Corefile says so. To be called once probes can arrive. */
  probeLoops(): void {
    const { loops } = this.#options;
    loops.reset();
    for (const { served, servers } of this.#running) {
      const { detectsLoops, zones } = served.block;
      if (!detectsLoops) continue;
      const asked = (servers?.group?.servers ?? [])
        .filter(({ encryption }) => encryption === undefined)
        .map(({ address, port }) => ({ address, port }));
      for (const { zone } of zones) loops.probe(asked, zone === '.' ? undefined : zone);
    }
  }

  /** Whether no question reaches the cluster's DNS: its address is not known, or is that of no server any more. */
  get isClusterLost(): boolean {
    const groups = this.#clusterGroups();
    if (groups.length === 0) return this.#options.clusterServer() === undefined;
    return groups.every((group) => group.isDown(true));
  }

  /** A name, or all below it, has changed in a zone of the cluster: what is on its way may be older. */
  forget(name: Uint8Array, zone: Uint8Array): void {
    for (const { isOfCluster, forwarder } of this.all) {
      if (isOfCluster) forwarder.forgetQuestions(name, zone);
    }
  }

  /** Answers what is in flight. */
  async settle(): Promise<void> {
    await Promise.all(this.all.map(({ forwarder }) => forwarder.settle()));
  }

  /** Ends all of them; what is in flight is answered first. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const running = this.#running;
    this.#running = [];
    for (const { hosts } of running) hosts?.close();
    await Promise.all(running.map(({ served }) => served.close()));
  }

  #clusterGroups(): readonly ServerGroup[] {
    return this.#running.flatMap(({ served, servers }) =>
      served.isOfCluster ? (servers?.group ?? []) : [],
    );
  }

  /** Where it stands in the Corefile does not matter, nor what there is beside its answers. */
  #keyOf(block: ServerBlock): string {
    const { addresses, zones, cache, forward, hosts } = block;
    const { logsErrors, errorPatterns, maxUdpBytes, rotatesRecords } = block;
    const patterns = errorPatterns.map((each) => [
      each.pattern.source,
      each.level,
      each.periodMs,
      each.showsFirst,
    ]);
    const rules = forward && { ...forward, line: 0 };
    const names = zones.map(({ zone, port }) => `${zone}:${port}`).sort();
    const answers = [cache, rules, hosts, maxUdpBytes, rotatesRecords, this.#isOfCluster(block)];
    return JSON.stringify([addresses, names, ...answers, logsErrors, patterns]);
  }

  #create(block: ServerBlock, key: string): Running {
    const { upstreams, subscriptions, exchanges, log } = this.#options;
    const zones = block.zones.map(({ zone }) => zone);
    const { forward } = block;
    const servers = forward && new BlockServers(zones.join(' '), forward, upstreams, log);
    const hosts = block.hosts && new HostsFile(block.hosts, zones, log);
    const isOfCluster = this.#isOfCluster(block);
    const { heardAt, lastHeardAt } = subscriptions;
    const parts = { servers, isOfCluster, hosts, subscriptions, heardAt, lastHeardAt };
    const served = new ServedBlock({ block, ...parts, log });
    if (exchanges !== undefined) served.forwarder.exchanges.add(exchanges);
    return { key, served, servers, hosts };
  }

  #isOfCluster({ forward }: ServerBlock): boolean {
    const cluster = this.#options.clusterServer();
    if (cluster === undefined || forward === undefined) return false;
    return forward.targets.some(
      (target) =>
        'address' in target && target.address === cluster.address && target.port === cluster.port,
    );
  }

  #followCluster(): void {
    const zones = this.all
      .filter(({ isOfCluster, cache }) => isOfCluster && cache !== undefined)
      .flatMap(({ block }) => block.zones.map(({ zone }) => zone))
      .filter((zone) => zone !== '.');
    this.#options.subscriptions.follow(this.#options.clusterServer(), [...new Set(zones)]);
  }

  /** The servers may be others now: resolv files have changed, or a loop was found. */
  refresh(): void {
    let isChanged = false;
    for (const { servers } of this.#running) isChanged = servers?.refresh() === true || isChanged;
    if (isChanged) this.#retain();
  }

  #retain(): void {
    const used = this.#running.flatMap(({ servers }) => servers?.group?.servers ?? []);
    this.#options.upstreams.retain([...new Set(used)]);
  }
}
