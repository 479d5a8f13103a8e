import type { Log } from '@kube-dns/daemon';
import type { Subscriptions } from '@kube-dns/push';
import {
  type CacheableAnswer,
  type CachingRules,
  type InnerAnswerer,
  ReplyReader,
  type ReplyPolicy,
  Resolver,
  type ResolverPolicy,
} from '@kube-dns/resolver';
import {
  type Client,
  type ExchangeObserver,
  retryPlan,
  type ServerGroup,
} from '@kube-dns/transport';
import {
  AnswerWriter,
  CLASS,
  expandKey,
  EXTENDED_ERROR,
  extendedErrorOption,
  FLAG,
  MAX_NAME_BYTES,
  type Query,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  readUint32,
  RecordCursor,
  SAFE_UDP_BYTES,
  SECTION,
  TYPE,
  writeUint32,
} from '@kube-dns/wire';
import type { CacheBounds, CacheRules, ServerBlock } from '../corefile/server-block.js';
import { HostsFile } from './hosts.js';
import { ErrorLog } from './logs.js';
import type { Lookups } from './lookups.js';
import { type NextPlugins, Rewriter } from './rewriter.js';
import { GOES_ON, Templates } from './templates.js';
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
  readonly subscriptions: Subscriptions;
  /** Sees what servers are asked, and reply. */
  readonly exchanges: ExchangeObserver | undefined;
  readonly reader: OneTtlReader;
  readonly log: Log;
}

/** One server block: its cache, its questions in flight, and its servers. */
export class ServedBlock implements ResolverPolicy, NextPlugins {
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
  /** Undefined without the plugin `cache`. */
  readonly replies: BlockReplies | undefined;
  readonly resolver: Resolver;
  readonly #subscriptions: Subscriptions;
  readonly #from: ZoneSet<true>;
  readonly #except: ZoneSet<true>;
  readonly #writer = new AnswerWriter();
  readonly #errors: ErrorLog | undefined;
  /** Undefined without the plugins `rewrite` and `template`. */
  readonly #rewriter: Rewriter | undefined;
  readonly #templates: Templates | undefined;
  /** Undefined without the plugin `dns64`. */
  readonly #inner: InnerQuestions | undefined;

  /** Throws a StartupError for a bad file of authorities. */
  constructor(block: ServerBlock, key: string, isOfCluster: boolean, parts: BlockParts) {
    const { upstreams, subscriptions, exchanges, reader, log } = parts;
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
    this.replies = rules && new BlockReplies(reader, rules, zones, isOfCluster);
    const { rewrites, templates } = block;
    this.#rewriter = rewrites.length === 0 ? undefined : new Rewriter(rewrites, this);
    this.#templates =
      templates.length === 0
        ? undefined
        : new Templates(templates, zones, (...made) => this.replies?.boundTtls(...made));
    // That of all names may be one of the cluster's DNS, too, which asks other servers for most.
    const isExempt = isOfCluster && !zones.includes('.');
    const dns64 = block.dns64 && { ...block.dns64, isExempt: () => isExempt };
    this.#inner = dns64 && new InnerQuestions(this);
    this.resolver = new Resolver({
      cache: {
        maxRecords: rules === undefined ? 0 : rules.success.capacity + rules.denial.capacity,
        maxStaleSeconds: rules?.stale?.maxAgeSeconds ?? MAX_STALE_SECONDS,
        staleTtlSeconds: STALE_TTL_SECONDS,
        rotatesRecords: block.rotatesRecords,
        countsHits: rules?.prefetch !== undefined,
        countsAnswers: true,
        keepsTtls: rules?.keepsTtl === true,
        lastSeen: subscriptions.lastSeen,
        zoneServers: subscriptions,
      },
      forwarding: {
        maxInFlight: maxConcurrent > 0 ? maxConcurrent : MAX_IN_FLIGHT,
        plan: retryPlan(TIMEOUT_MS),
        maxUdpBytes: block.maxUdpBytes ?? SAFE_UDP_BYTES,
        passesAd: true,
        unsentRcode: RCODE.SERVFAIL,
        ...(rules !== undefined && { servfailMs: rules.servfailMs }),
      },
      staleAfterMs: rules && staleAfterMs(rules, isOfCluster),
      prefetch: rules?.prefetch,
      subscriptions,
      policy: this,
      dns64,
      exchanges: [this.#errors, exchanges].filter((each) => each !== undefined),
    });
    if (isOfCluster) subscriptions.attach(this.resolver);
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

  /**
   * Writes the answer to a question in its zones, or takes a reply path; returns what an Answerer does. `lookups` ask what the
   * answer needs besides.
   */
  answer(query: Query, out: Uint8Array, client: Client, lookups: Lookups): number {
    if (this.#rewriter !== undefined) return this.#rewriter.answer(query, out, client, lookups);
    return this.answerNext(query, out, client, lookups);
  }

  /** What `rewrite` would ask in place of a question: see `Rewriter.preview`. */
  rewritten(query: Query): ReturnType<Rewriter['preview']> {
    return this.#rewriter?.preview(query);
  }

  /** As `answer`, without the plugin `rewrite`. */
  answerNext(query: Query, out: Uint8Array, client: Client, lookups: Lookups): number {
    if (this.#templates !== undefined) {
      const made = this.#templates.answer(query, out, client, lookups);
      if (made !== GOES_ON) return made;
    }
    if (query.class === CLASS.CH) return this.#refuse(query, out, RCODE.REFUSED, NO_CHAOS);
    const fromHosts = this.hosts?.answer(query, out) ?? 0;
    if (this.#inner === undefined) {
      return fromHosts > 0 ? fromHosts : this.resolver.resolve(query, out, client);
    }
    this.#inner.lookups = lookups;
    return fromHosts > 0
      ? this.resolver.translate(query, out, fromHosts, client, this.#inner)
      : this.resolver.resolve(query, out, client, this.#inner);
  }

  /**
   * Stores an answer of a snapshot as an expired one, checked as a reply of a server is; `outdated` where no client would get it:
   * see `AnswerCache.restore`.
   */
  restore(
    message: Buffer,
    ageSeconds: number,
    expiredSeconds: number,
  ): 'restored' | 'outdated' | 'unsound' {
    const answer = this.replies?.readAnswer(message);
    if (answer === undefined) return 'unsound';
    return this.resolver.restore(answer, ageSeconds, expiredSeconds) ? 'restored' : 'outdated';
  }

  // What its resolver asks for.

  groupOf(): ServerGroup | undefined {
    return this.group;
  }

  answerUncached(query: Query, out: Uint8Array): number {
    if (this.isForwarded(query)) return 0;
    return this.#refuse(query, out, RCODE.SERVFAIL, NOT_FORWARDED);
  }

  answerUnrouted(query: Query, out: Uint8Array): number {
    return this.#refuse(query, out, RCODE.SERVFAIL, NO_SERVERS);
  }

  /** Answers what is in flight, then ends. */
  async close(): Promise<void> {
    this.#subscriptions.detach(this.resolver);
    this.hosts?.close();
    await this.resolver.settle();
    this.resolver.close();
    this.#errors?.close();
  }

  #refuse(query: Query, out: Uint8Array, rcode: number, reason: Uint8Array): number {
    this.#writer.begin(query, out);
    this.#writer.setRcode(rcode, reason);
    return this.#writer.finish();
  }
}

/** What `dns64` asks: addresses of its block, and reverse names of whatever block has them. */
class InnerQuestions implements InnerAnswerer {
  readonly #block: NextPlugins;
  /** Those of the address that the last query came to: all find the same blocks there. */
  lookups!: Lookups;

  constructor(block: NextPlugins) {
    this.#block = block;
  }

  answerInner(query: Query, out: Uint8Array, client: Client): number {
    const { lookups } = this;
    const other = query.type === TYPE.PTR ? lookups.answer(query, out, client) : undefined;
    return other ?? this.#block.answerNext(query, out, client, lookups);
  }
}

/** With `serve_stale` as it says, at once where it says so: undefined then. */
function staleAfterMs({ stale }: CacheRules, isOfCluster: boolean): number | undefined {
  if (stale !== undefined && stale.verifyMs === undefined) return undefined;
  return stale?.verifyMs ?? (isOfCluster ? CLUSTER_STALE_MS : STALE_MS);
}

/**
 * Reads replies all of whose records have one lifetime, that of the message. All blocks share one: it has room for the
 * longest message.
 */
export class OneTtlReader implements CachingRules {
  readonly replies = new ReplyReader(this);
  readonly cachesNegatives = true;
  readonly cachesAnnouncedNegatives = true;
  /** A denial without a SOA is not cached. */
  readonly negativeTtlSeconds = 0;
  readonly cachesZeroTtls = false;
  /** The lifetime of the reply that is processed. */
  ttlSeconds = 0;

  get minTtlSeconds(): number {
    return this.ttlSeconds;
  }

  get maxTtlSeconds(): number {
    return this.ttlSeconds;
  }

  isExtraType(): boolean {
    return true;
  }
}

/** What CoreDNS's plugin `cache` does with the replies to a block's questions: TTLs within bounds, then stored. */
class BlockReplies implements ReplyPolicy {
  readonly reader: ReplyReader;
  readonly maxTtlSeconds = undefined;
  readonly passesErrors = true;
  readonly endsExpired = true;
  readonly #oneTtl: OneTtlReader;
  readonly #rules: CacheRules;
  /** Whether the block forwards to the DNS of the cluster, whose expired answers are served only briefly. */
  readonly #isOfCluster: boolean;
  /** The zones whose answers are cached. */
  readonly #zones: ZoneSet<true>;
  readonly #uncachedSuccess: ZoneSet<true>;
  readonly #uncachedDenial: ZoneSet<true>;
  readonly #cursor = new RecordCursor();
  readonly #name = new Uint8Array(MAX_NAME_BYTES);

  /** `zones` are those of the block, where the rules name none. */
  constructor(
    oneTtl: OneTtlReader,
    rules: CacheRules,
    zones: readonly string[],
    isOfCluster: boolean,
  ) {
    this.reader = oneTtl.replies;
    this.#oneTtl = oneTtl;
    this.#rules = rules;
    this.#isOfCluster = isOfCluster;
    this.#zones = zoneSet(rules.zones.length > 0 ? rules.zones : zones);
    this.#uncachedSuccess = zoneSet(rules.disabledSuccess);
    this.#uncachedDenial = zoneSet(rules.disabledDenial);
  }

  rewrite(reply: Buffer): Buffer {
    return reply;
  }

  judge(reply: Buffer): Buffer | undefined {
    const isNxdomain = (readUint16(reply, 2) & RCODE_MASK) === RCODE.NXDOMAIN;
    const isDenial = isNxdomain || readUint16(reply, 6) === 0;
    if (!this.#isCached(reply, isDenial)) return reply;
    const bounds = isDenial ? this.#rules.denial : this.#rules.success;
    this.#oneTtl.ttlSeconds = clamp(messageTtl(reply, isDenial, this.#cursor), bounds);
    return undefined;
  }

  mayStore(answer: CacheableAnswer, reply: Buffer): boolean {
    answer.isOfCluster = this.#isOfCluster;
    answer.isAuthoritative = (readUint16(reply, 2) & FLAG.AA) !== 0;
    return this.#oneTtl.ttlSeconds > 0;
  }

  mayStoreMade(message: Buffer): boolean {
    return this.judge(message) === undefined;
  }

  /** The targets of CNAMEs are asked for themselves, as in CoreDNS. */
  mayStoreTarget(): boolean {
    return false;
  }

  finish(reply: Buffer): Buffer {
    setMessageTtl(reply, this.#oneTtl.ttlSeconds, this.#cursor);
    return reply;
  }

  /** Gives an answer that is made here the TTLs that it had from a cache in front (coredns plugin/cache, WriteMsg). */
  boundTtls(message: Uint8Array, length: number): void {
    const answer = message.subarray(0, length);
    const isNxdomain = (readUint16(answer, 2) & RCODE_MASK) === RCODE.NXDOMAIN;
    const isDenial = isNxdomain || readUint16(answer, 6) === 0;
    if (!this.#isCached(answer, isDenial)) return;
    const bounds = isDenial ? this.#rules.denial : this.#rules.success;
    setMessageTtl(answer, clamp(messageTtl(answer, isDenial, this.#cursor), bounds), this.#cursor);
  }

  /** Reads a message that was an answer here before, as if a server had sent it; undefined where that would not be cached. */
  readAnswer(message: Buffer): CacheableAnswer | undefined {
    const isResponse = (readUint16(message, 2) & FLAG.QR) !== 0;
    if (!isResponse || this.judge(message) !== undefined || !this.reader.read(message))
      return undefined;
    const { answer } = this.reader;
    return this.mayStore(answer, message) ? answer : undefined;
  }

  #isCached(reply: Uint8Array, isDenial: boolean): boolean {
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
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
