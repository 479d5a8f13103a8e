import type { LoopDetector } from '@kube-dns/resolver';
import type { ServerAddress, ServerGroup, UpstreamServer } from '@kube-dns/transport';
import { encodeKey } from '@kube-dns/wire';
import type { ServerBlock } from '../corefile/server-block.js';
import { type BlockParts, OneTtlReader, ServedBlock } from './served-block.js';

interface BlocksOptions extends Omit<BlockParts, 'reader'> {
  /** Where this process listens. */
  readonly own: { readonly addresses: readonly ServerAddress[] };
  readonly loops: LoopDetector;
  /** The address of the cluster's DNS, once it is known. */
  readonly clusterServer: () => ServerAddress | undefined;
}

/** How often resolv files are looked at. */
const REFRESH_MS = 1_000;

/** The blocks of the Corefile that is obeyed now. One that a new Corefile leaves as it is keeps its cache. */
export class Blocks {
  readonly #options: BlocksOptions;
  readonly #parts: BlockParts;
  #all: readonly ServedBlock[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The server and the zones that are subscribed to. */
  #followed = '';

  constructor(options: BlocksOptions) {
    this.#options = options;
    this.#parts = { ...options, reader: new OneTtlReader() };
    options.loops.listen(() => this.refresh());
  }

  get all(): readonly ServedBlock[] {
    return this.#all;
  }

  /**
   * Serves these blocks from now on, in this order. Throws a StartupError for a file that is missing or broken; the
   * blocks before stay then, as they are.
   */
  apply(blocks: readonly ServerBlock[]): void {
    const before = new Map(this.#all.map((served) => [served.key, served]));
    const created: ServedBlock[] = [];
    try {
      const served = blocks.map((block) => {
        const isOfCluster = this.#isOfCluster(block);
        const key = keyOf(block, isOfCluster);
        const existing = before.get(key);
        before.delete(key);
        if (existing !== undefined) return existing;
        const one = new ServedBlock(block, key, isOfCluster, this.#parts);
        created.push(one);
        return one;
      });
      served.forEach((one, at) => (one.block = blocks[at]!));
      this.#all = served;
    } catch (error) {
      for (const one of created) void one.close();
      this.#retain();
      throw error;
    }
    this.#retain();
    for (const served of before.values()) void served.close();
    this.#followCluster();
    this.#timer ??= setInterval(() => this.refresh(), REFRESH_MS).unref();
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
    for (const { block, group } of this.#all) {
      const { detectsLoops, zones } = block;
      if (!detectsLoops) continue;
      const probed = (group?.servers ?? [])
        .filter(({ encryption }) => encryption === undefined)
        .map(({ address, port }) => ({ address, port }));
      for (const { zone } of zones) loops.probe(probed, zone === '.' ? undefined : zone);
    }
  }

  /** Whether no question reaches the cluster's DNS: its address is not known, or is that of no server any more. */
  get isClusterDown(): boolean {
    const groups = this.#clusterGroups();
    if (groups.length === 0) return this.#options.clusterServer() === undefined;
    return groups.every((group) => group.isDown(true));
  }

  /** The servers may be others now: resolv files have changed, or a loop was found. */
  refresh(): void {
    const changed = this.#all.filter(({ servers }) => servers?.refresh() === true);
    if (changed.length > 0) this.#retain();
  }

  /** Answers what is in flight. */
  async settle(): Promise<void> {
    await Promise.all(this.#all.map(({ resolver }) => resolver.settle()));
  }

  /** Ends all of them; what is in flight is answered first. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const all = this.#all;
    this.#all = [];
    await Promise.all(all.map((served) => served.close()));
  }

  #clusterGroups(): readonly ServerGroup[] {
    return this.#all.flatMap(({ isOfCluster, group }) => (isOfCluster ? (group ?? []) : []));
  }

  #isOfCluster({ forward }: ServerBlock): boolean {
    const cluster = this.#options.clusterServer();
    if (cluster === undefined || forward === undefined) return false;
    return forward.targets.some(
      (target) =>
        'address' in target && target.address === cluster.address && target.port === cluster.port,
    );
  }

  /** One subscription, for the zones of all blocks of the cluster; where its DNS announces no changes, answers expire by their TTLs. */
  #followCluster(): void {
    const { clusterServer, subscriptions, own } = this.#options;
    const server = clusterServer();
    const ofCluster = this.#all.filter(
      ({ isOfCluster, block }) => isOfCluster && block.cache !== undefined,
    );
    const served = ofCluster.flatMap(({ block }) => block.zones.map(({ zone }) => zone));
    const names = [...new Set(served)].filter((zone) => zone !== '.');
    const zones = names.map(encodeKey);
    const followed = JSON.stringify([server?.address, server?.port, ...names]);
    if (followed === this.#followed) return;
    this.#followed = followed;
    const servers = server === undefined || zones.length === 0 ? [] : [{ server, zones }];
    subscriptions.follow(servers, own.addresses);
  }

  #retain(): void {
    // Blocks that forward to one server share its connections: the shortest `max_age` counts.
    const ages = new Map<UpstreamServer, number>();
    for (const { group, block } of this.#all) {
      const maxAgeMs = block.forward?.maxAgeMs ?? 0;
      for (const server of group?.servers ?? []) {
        ages.set(server, shorterAge(ages.get(server) ?? 0, maxAgeMs));
      }
    }
    for (const [{ encrypted }, maxAgeMs] of ages) {
      if (encrypted !== undefined) encrypted.maxAgeMs = maxAgeMs;
    }
    this.#options.upstreams.retain([...ages.keys()]);
  }
}

/** Of two greatest ages; 0 is no limit. */
function shorterAge(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.min(one, other);
}

/** What makes two blocks one: where it stands in the Corefile does not matter, nor what there is beside its answers. */
function keyOf(block: ServerBlock, isOfCluster: boolean): string {
  const { addresses, zones, cache, forward, hosts, dns64 } = block;
  const { logsErrors, errorPatterns, maxUdpBytes, rotatesRecords } = block;
  const patterns = errorPatterns.map((each) => [
    each.pattern.source,
    each.level,
    each.periodMs,
    each.showsFirst,
  ]);
  const rules = forward && { ...forward, line: 0, maxAgeMs: 0 };
  const names = zones.map(({ zone, port }) => `${zone}:${port}`).sort();
  const made = [block.rewrites, block.templates].map((each) => each.map(({ text }) => text));
  const answers = [
    cache,
    rules,
    hosts,
    dns64 && { ...dns64, prefix: dns64.prefix.text },
    made,
    maxUdpBytes,
    rotatesRecords,
    isOfCluster,
  ];
  return JSON.stringify([addresses, names, ...answers, logsErrors, patterns]);
}
