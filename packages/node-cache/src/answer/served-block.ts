import type { Log } from '@kube-dns/daemon';
import {
  AnswerCache,
  AnswerCounters,
  CachedAnswers,
  CachedForwarding,
  type CachingRules,
  EVERY_TYPE,
  type Intake,
  ReplyPublisher,
  ReplyReader,
  staleRules,
} from '@kube-dns/resolver';
import {
  type Client,
  type ExchangeObserver,
  QueryForwarder,
  retryPlan,
  type ServerGroup,
  type StaleRules,
} from '@kube-dns/transport';
import {
  AnswerWriter,
  CLASS,
  expandKey,
  EXTENDED_ERROR,
  extendedErrorOption,
  FLAG,
  markReasons,
  MAX_NAME_BYTES,
  type Query,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  readUint32,
  reasonsOf,
  RecordCursor,
  SAFE_UDP_BYTES,
  SECTION,
  TYPE,
  writeUint32,
} from '@kube-dns/wire';
import type { CacheBounds, CacheRules, ServerBlock } from '../corefile/server-block.js';
import type { ClusterSubscriptions } from './cluster-subscriptions.js';
import { HostsFile } from './hosts.js';
import { ErrorLog } from './logs.js';
import { BlockServers, type Upstreams } from './upstreams.js';
import { type ZoneSet, zoneSet } from './zones.js';

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

// Why there is no better answer, as options of answers to clients with EDNS (RFC 8914).
/** The block does not forward it: it has no `forward`, or an `except`. */
const NOT_FORWARDED = extendedErrorOption(EXTENDED_ERROR.OTHER, 'the Corefile forwards it nowhere');
/** The address of the cluster's DNS is not known yet, or the resolv file names no server. */
const NO_SERVERS = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'no name servers');
/** Class CHAOS. */
const NO_CHAOS = extendedErrorOption(EXTENDED_ERROR.NOT_SUPPORTED);

/** What all blocks share. */
export interface BlockParts {
  readonly upstreams: Upstreams;
  readonly subscriptions: ClusterSubscriptions;
  /** Sees what servers are asked, and reply. */
  readonly exchanges: ExchangeObserver | undefined;
  readonly log: Log;
}

/** One server block: its cache, its questions in flight, and its servers. */
export class ServedBlock {
  /** As the Corefile has it now: what is beside its answers may have changed. */
  block: ServerBlock;
  /** What it was made of, as text. */
  readonly key: string;
  /** Whether its answers are those of the cluster's DNS. */
  readonly isOfCluster: boolean;
  /** Undefined without the plugin `hosts`. */
  readonly hosts: HostsFile | undefined;
  /** Undefined without the plugin `forward`. */
  readonly servers: BlockServers | undefined;
  readonly counters = new AnswerCounters();
  /** Undefined without the plugin `cache`. */
  readonly cache: AnswerCache | undefined;
  readonly forwarder: QueryForwarder;
  /** Whether the last answer came from the cache, and whether that was asked at all. */
  wasHit = false;
  wasLookedUp = false;
  readonly #subscriptions: ClusterSubscriptions;
  readonly #cached: CachedForwarding | undefined;
  readonly #from: ZoneSet<true>;
  readonly #except: ZoneSet<true>;
  readonly #writer = new AnswerWriter();
  readonly #errors: ErrorLog | undefined;

  /** Throws a StartupError for a bad file of authorities. */
  constructor(block: ServerBlock, key: string, isOfCluster: boolean, parts: BlockParts) {
    const { upstreams, subscriptions, exchanges, log } = parts;
    const { forward, cache: rules } = block;
    const zones = block.zones.map(({ zone }) => zone);
    const maxConcurrent = forward?.maxConcurrent ?? 0;
    this.block = block;
    this.key = key;
    this.isOfCluster = isOfCluster;
    this.#subscriptions = subscriptions;
    this.servers = forward && new BlockServers(zones.join(' '), forward, upstreams, log);
    this.hosts = block.hosts && new HostsFile(block.hosts, zones, log);
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
    if (exchanges !== undefined) this.forwarder.exchanges.add(exchanges);
    this.#cached = this.cache && this.#cachedForwarding(rules!, this.cache, stale !== undefined);
  }

  /** The servers that it forwards to; undefined while there are none. */
  get group(): ServerGroup | undefined {
    return this.servers?.group;
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
    const fromHosts = this.hosts?.answer(query, out) ?? 0;
    if (fromHosts > 0) return fromHosts;
    this.wasLookedUp = this.#cached !== undefined;
    const length = this.#cached?.answer(query, out, client) ?? 0;
    this.wasHit = length > 0;
    return this.wasHit ? length : this.#forward(query, out, client);
  }

  /** Answers what is in flight, then ends. */
  async close(): Promise<void> {
    this.hosts?.close();
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
    const { heardAt, lastHeardAt } = this.#subscriptions;
    return new AnswerCache({
      maxRecords: success.capacity + denial.capacity,
      maxStaleSeconds: stale?.maxAgeSeconds ?? MAX_STALE_SECONDS,
      staleTtlSeconds: STALE_TTL_SECONDS,
      rotatesRecords: this.block.rotatesRecords,
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
    const usualMs = this.isOfCluster ? CLUSTER_STALE_MS : STALE_MS;
    return staleRules({ timeoutMs: stale?.verifyMs ?? usualMs }, cache);
  }

  #cachedForwarding(rules: CacheRules, cache: AnswerCache, isStaleLate: boolean): CachedForwarding {
    const { block, servers, isOfCluster, forwarder, counters } = this;
    const subscriptions = this.#subscriptions;
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

interface BlockIntakeOptions {
  readonly cache: AnswerCache;
  readonly rules: CacheRules;
  /** The zones whose answers are cached. */
  readonly zones: readonly string[];
  /** Whether the block forwards to the DNS of the cluster, whose expired answers are served only briefly. */
  readonly isOfCluster: boolean;
  readonly subscriptions: ClusterSubscriptions;
}

/** All records of an answer have one lifetime, that of the message. */
class OneTtl implements CachingRules {
  readonly cachesNegatives = true;
  readonly cachesToldNegatives = true;
  /** A denial without a SOA is not cached. */
  readonly negativeTtlSeconds = 0;
  readonly cachesZeroTtls = false;
  minTtlSeconds = 0;
  maxTtlSeconds = 0;

  isExtraType(): boolean {
    return true;
  }

  set(seconds: number): void {
    this.minTtlSeconds = this.maxTtlSeconds = seconds;
  }
}

/** Of all blocks: a reader has room for the longest message. */
const TTL = new OneTtl();
const READER = new ReplyReader(TTL);

/** The targets of CNAMEs are asked for themselves, as in CoreDNS. */
const NO_TARGETS = () => false;

/** Processes the replies to a block's questions as CoreDNS's plugin `cache` does: TTLs within bounds, then stored. */
class BlockIntake implements Intake {
  readonly #options: BlockIntakeOptions;
  readonly #zones: ZoneSet<true>;
  readonly #uncachedSuccess: ZoneSet<true>;
  readonly #uncachedDenial: ZoneSet<true>;
  readonly #teller: ReplyPublisher;
  readonly #cursor = new RecordCursor();
  /** The name of the last question, lower-cased. */
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  #nameLength = 0;

  constructor(options: BlockIntakeOptions) {
    const { rules, subscriptions, zones } = options;
    this.#options = options;
    this.#zones = zoneSet(zones);
    this.#uncachedSuccess = zoneSet(rules.disabledSuccess);
    this.#uncachedDenial = zoneSet(rules.disabledDenial);
    this.#teller = new ReplyPublisher(subscriptions);
  }

  take(received: Buffer, isCacheable: boolean, mayReplace = true): Buffer {
    const rcode = readUint16(received, 2) & RCODE_MASK;
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) return received;
    this.#teller.find(received);
    const reply = markReasons(received, this.#cursor);
    const isDenial = rcode === RCODE.NXDOMAIN || readUint16(reply, 6) === 0;
    if (!this.#isCached(reply, isDenial)) return reply;
    const { rules } = this.#options;
    const bounds = isDenial ? rules.denial : rules.success;
    const ttl = clamp(messageTtl(reply, isDenial, this.#cursor), bounds);
    TTL.set(ttl);
    const isRead = READER.read(reply, this.#teller.isOfZone) && ttl > 0;
    if (isRead && isCacheable) this.#store(reply, mayReplace, reply !== received);
    else if (isCacheable && mayReplace) this.#dropExpired();
    setMessageTtl(reply, ttl, this.#cursor);
    return reply;
  }

  #store(reply: Buffer, mayReplace: boolean, hasReasons: boolean): void {
    const { cache, isOfCluster } = this.#options;
    const { answer } = READER;
    // NXDOMAIN would hide the answers of every type.
    if (!mayReplace && (answer.type === EVERY_TYPE || cache.isLive(answer))) return;
    answer.isOfCluster = isOfCluster;
    answer.isAuthoritative = (readUint16(reply, 2) & FLAG.AA) !== 0;
    if (hasReasons) answer.reasons = reasonsOf(reply, this.#cursor);
    this.#teller.store(cache, answer, NO_TARGETS);
  }

  /** What is not cached is newer than what has expired, all the same; the name is that of the last question. */
  #dropExpired(): void {
    this.#options.cache.dropExpired(this.#name, this.#nameLength, READER.questionType);
  }

  #isCached(reply: Buffer, isDenial: boolean): boolean {
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
    this.#nameLength = length;
    if (length <= 0 || this.#zones.find(this.#name, length) !== true) return false;
    const uncached = isDenial ? this.#uncachedDenial : this.#uncachedSuccess;
    return uncached.find(this.#name, length) !== true;
  }
}

/** The ceiling is stronger than the floor, as in coredns plugin/cache/cache.go, computeTTL. */
function clamp(ttl: number, { minTtlSeconds, maxTtlSeconds }: CacheBounds): number {
  return Math.min(Math.max(ttl, minTtlSeconds), maxTtlSeconds);
}

/** coredns plugin/pkg/dnsutil: the lifetime of a message without records, and of one with long TTLs only. */
const EMPTY_SECONDS = 5;
const LONGEST_SECONDS = 3_600;
const SOA_MINIMUM_BYTES = 4;

/**
 * How long a message may be cached, in seconds: the smallest TTL of all its records, and of the minimum of a SOA that a
 * negative answer has (coredns plugin/pkg/dnsutil/ttl.go, MinimalTTL).
 */
function messageTtl(message: Uint8Array, isDenial: boolean, cursor: RecordCursor): number {
  let ttl = LONGEST_SECONDS;
  let records = 0;
  cursor.reset(message, message.length);
  while (cursor.next()) {
    if (cursor.type === TYPE.OPT) continue;
    records++;
    ttl = Math.min(ttl, cursor.ttlSeconds);
    if (isDenial && cursor.type === TYPE.SOA && cursor.section === SECTION.AUTHORITY) {
      ttl = Math.min(ttl, readUint32(message, cursor.end - SOA_MINIMUM_BYTES));
    }
  }
  return records === 0 ? EMPTY_SECONDS : ttl;
}

/** Gives all records of a message one TTL, in place. */
function setMessageTtl(message: Uint8Array, ttlSeconds: number, cursor: RecordCursor): void {
  cursor.reset(message, message.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT) writeUint32(message, cursor.ttlAt, ttlSeconds);
  }
}
