import type { Log } from '@kube-dns/daemon';
import type { LastSeen, Subscriptions } from '@kube-dns/push';
import { AnswerCache, AnswerCounters, CachedAnswers, CachedForwarding, staleRules } from '@kube-dns/resolver';
import {
  type Client,
  QueryForwarder,
  retryPlan,
  type ServerGroup,
  type StaleRules,
} from '@kube-dns/transport';
import { AnswerWriter, CLASS, type Query, RCODE, SAFE_UDP_BYTES } from '@kube-dns/wire';
import type { CacheRules, ServerBlock } from '../corefile/server-block.js';
import { BlockIntake } from './block-intake.js';
import type { BlockServers } from './block-servers.js';
import { ErrorLog } from './error-log.js';
import { NO_CHAOS, NO_SERVERS, NOT_FORWARDED } from './explanations.js';
import type { HostsFile } from './hosts-file.js';
import { type ZoneSet, zoneSet } from './zone-set.js';

/** The longest that a question takes: most clients wait 5 s. */
const TIMEOUT_MS = 4_500;
/** Questions in flight where the Corefile says no other number. */
const MAX_IN_FLIGHT = 1_000;
/** How long a client waits where there is an expired answer: the cluster's DNS is near, other servers may be far (RFC 8767 section 5). */
const CLUSTER_STALE_MS = 80;
const STALE_MS = 1_800;
const MAX_STALE_SECONDS = 3_600;
/** The TTL of an expired answer, in seconds. */
const STALE_TTL_SECONDS = 5;

export interface ServedBlockOptions {
  readonly block: ServerBlock;
  /** Undefined without the plugin `forward`. */
  readonly servers: Pick<BlockServers, 'group'> | undefined;
  /** Whether these are the DNS of the cluster. */
  readonly isOfCluster: boolean;
  readonly hosts: HostsFile | undefined;
  readonly subscriptions: Pick<Subscriptions, 'optionsFor' | 'find' | 'search' | 'publisherOf'>;
  readonly heardAt: LastSeen;
  readonly lastHeardAt: LastSeen;
  readonly log: Log;
}

/** One server block: its cache, its questions in flight, and its servers. */
export class ServedBlock {
  /** As the Corefile has it now: what is beside its answers may have changed. */
  block: ServerBlock;
  /** Whether its answers are those of the cluster's DNS. */
  readonly isOfCluster: boolean;
  readonly counters = new AnswerCounters();
  /** Undefined without the plugin `cache`. */
  readonly cache: AnswerCache | undefined;
  readonly forwarder: QueryForwarder;
  /** Whether the last answer came from the cache, and whether that was asked at all. */
  wasHit = false;
  wasLookedUp = false;
  readonly #options: ServedBlockOptions;
  readonly #cached: CachedForwarding | undefined;
  readonly #from: ZoneSet<true>;
  readonly #except: ZoneSet<true>;
  readonly #writer = new AnswerWriter();
  readonly #errors: ErrorLog | undefined;

  constructor(options: ServedBlockOptions) {
    const { block, log } = options;
    const { forward, cache: rules } = block;
    const maxConcurrent = forward?.maxConcurrent ?? 0;
    this.block = block;
    this.isOfCluster = options.isOfCluster;
    this.#options = options;
    this.#from = zoneSet(forward === undefined ? [] : [forward.from]);
    this.#except = zoneSet(forward?.except ?? []);
    this.#errors = block.logsErrors ? new ErrorLog(block.errorPatterns, log) : undefined;
    this.cache = rules && this.#createCache(rules);
    const stale = this.cache && this.#staleRules(rules!, this.cache);
    this.forwarder = new QueryForwarder({
      maxInFlight: maxConcurrent > 0 ? maxConcurrent : MAX_IN_FLIGHT,
      plan: retryPlan(TIMEOUT_MS),
      maxUdpBytes: block.maxUdpBytes ?? SAFE_UDP_BYTES,
      passesAd: true,
      unsentRcode: RCODE.SERVFAIL,
      ...(rules !== undefined && { servfailMs: rules.servfailMs }),
      stale,
    });
    if (this.#errors !== undefined) this.forwarder.exchanges.add(this.#errors);
    this.#cached = this.cache && this.#cachedForwarding(rules!, this.cache, stale !== undefined);
  }

  get hosts(): HostsFile | undefined {
    return this.#options.hosts;
  }

  /** The servers that it forwards to; undefined while there are none. */
  get group(): ServerGroup | undefined {
    return this.#options.servers?.group;
  }

  /** Whether `forward` is for a name. */
  isForwarded({ name, nameLength }: Query): boolean {
    return (
      this.#from.find(name, nameLength) === true && this.#except.find(name, nameLength) !== true
    );
  }

  /** Whether it has servers to ask, as far as the Corefile goes: the address of the cluster's DNS is known. */
  get isReady(): boolean {
    return this.block.forward === undefined || this.block.forward.targets.length > 0;
  }

  /** Writes the answer to a question in its zones, or takes a reply path; returns what an Answerer does. */
  answer(query: Query, out: Uint8Array, client: Client): number {
    this.wasHit = this.wasLookedUp = false;
    if (query.class === CLASS.CH) return this.#refuse(query, out, RCODE.REFUSED, NO_CHAOS);
    const fromHosts = this.#options.hosts?.answer(query, out) ?? 0;
    if (fromHosts > 0) return fromHosts;
    this.wasLookedUp = this.#cached !== undefined;
    const length = this.#cached?.answer(query, out, client) ?? 0;
    this.wasHit = length > 0;
    return this.wasHit ? length : this.#forward(query, out, client);
  }

  /** Answers what is in flight, then ends. */
  async close(): Promise<void> {
    await this.forwarder.settle();
    this.forwarder.close();
    this.cache?.close();
    this.#errors?.close();
  }

  #forward(query: Query, out: Uint8Array, client: Client): number {
    if (!this.isForwarded(query)) return this.#refuse(query, out, RCODE.SERVFAIL, NOT_FORWARDED);
    const { group } = this;
    if (group === undefined) return this.#refuse(query, out, RCODE.SERVFAIL, NO_SERVERS);
    if (this.#cached !== undefined) return this.#cached.forward(query, out, client, group);
    return this.forwarder.forward(query, out, client, group);
  }

  #refuse(query: Query, out: Uint8Array, rcode: number, reason: Uint8Array): number {
    this.#writer.begin(query, out);
    this.#writer.setRcode(rcode, reason);
    return this.#writer.finish();
  }

  #createCache({ success, denial, stale, prefetch, keepsTtl }: CacheRules): AnswerCache {
    const { heardAt, lastHeardAt, block } = this.#options;
    return new AnswerCache({
      maxRecords: success.capacity + denial.capacity,
      maxStaleSeconds: stale?.maxAgeSeconds ?? MAX_STALE_SECONDS,
      staleTtlSeconds: STALE_TTL_SECONDS,
      rotatesRecords: block.rotatesRecords,
      countsHits: prefetch !== undefined,
      countsAnswers: true,
      keepsTtls: keepsTtl,
      heardAt,
      lastHeardAt,
    });
  }

  /** With `serve_stale` as it says, at once where it says so: undefined then. */
  #staleRules({ stale }: CacheRules, cache: AnswerCache): StaleRules | undefined {
    if (stale !== undefined && stale.verifyMs === undefined) return undefined;
    const usualMs = this.#options.isOfCluster ? CLUSTER_STALE_MS : STALE_MS;
    return staleRules({ timeoutMs: stale?.verifyMs ?? usualMs }, cache);
  }

  #cachedForwarding(rules: CacheRules, cache: AnswerCache, isStaleLate: boolean): CachedForwarding {
    const { block, servers, isOfCluster, subscriptions } = this.#options;
    const { forwarder, counters } = this;
    const zones = rules.zones.length > 0 ? rules.zones : block.zones.map(({ zone }) => zone);
    return new CachedForwarding({
      cached: new CachedAnswers(cache, isStaleLate),
      forwarder,
      intake: new BlockIntake({ cache, rules, zones, isOfCluster, subscriptions }),
      groupOf: () => servers?.group,
      subscriptions,
      counters,
      stale: isStaleLate ? { now: () => forwarder.now() } : undefined,
      prefetch: rules.prefetch,
    });
  }
}
