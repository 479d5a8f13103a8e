import type { ChangeSink, ChangeSource, Relay, Subscriptions } from '@kube-dns/push';
import {
  type AddedOptions,
  type Client,
  type ExchangeObserver,
  type ForwarderFacts,
  NO_OPTIONS,
  NO_ANSWER_YET,
  QueryForwarder,
  type QueryForwarderOptions,
  type QuestionState,
  type ReplyInspector,
  type ServerGroup,
  SOURCE,
  type StaleAnswer,
  type StaleReason,
  type StaleRules,
} from '@kube-dns/transport';
import {
  appendOpt,
  CLASS,
  EXTENDED_ERROR,
  extendedErrorOption,
  FLAG,
  NO_EDNS_OPTIONS,
  type Query,
  QUESTION_FIXED_BYTES,
  readUint16,
} from '@kube-dns/wire';
import {
  AnswerCache,
  type AnswerCacheOptions,
  type CachedAnswer,
  type CachedEntry,
  type CacheFacts,
  type EntryCounts,
  type Hit,
  type SnapshotAnswer,
} from './cache/answer-cache.js';
import type { CacheableAnswer } from './cache/cacheable-answer.js';
import { Dns64, type Dns64Host, type Dns64Options, type InnerAnswerer } from './dns64/dns64.js';
import { type ReplyPolicy, ReplyPipeline } from './reply-pipeline.js';
import { type ServerFacts, serverFacts } from './status/server-facts.js';

/** What a question is sent with, and what becomes of its reply. */
export interface SentQuestion {
  readonly options: AddedOptions;
  readonly inspector: ReplyInspector;
}

/** What a program decides of each question. */
export interface ResolverPolicy {
  /** Undefined where replies go to clients as they came, and nothing is cached. */
  readonly replies: ReplyPolicy | undefined;
  /** The servers of a question; undefined where there are none. */
  groupOf(query: Query): ServerGroup | undefined;
  /**
   * Writes an answer of the program itself to a question that the cache has no answer to, or only an expired one, which
   * `isExpired` says; 0 when servers are to be asked.
   */
  answerUncached(query: Query, out: Uint8Array, isExpired: boolean, cache: AnswerCache): number;
  /** Writes what clients get where there are no servers. */
  answerUnrouted(query: Query, out: Uint8Array): number;
  /** Changes how a question is sent for a client; it is sent as it came unless this is defined. */
  readonly beforeSending?:
    ((query: Query, client: Client, sent: SentQuestion) => SentQuestion) | undefined;
}

/**
 * Where an answer is from that a client gets at once: the cache, there also expired, the program by its own data or as
 * there are no servers to ask, or the forwarder, which refuses.
 */
export type AnswerOrigin = 'cached' | 'stale' | 'own' | 'unrouted' | 'refused';

/** Sees what a Resolver does with each question. What it is given is valid only during the call. */
export interface ResolverObserver {
  /** A client gets an answer at once; `errorCode` is the Extended DNS Error of a refusal. */
  answered(answer: Uint8Array, origin: AnswerOrigin, errorCode?: number): void;
  /** A client gets an expired answer after all, maybe later than its query. */
  gaveStale(answer: Uint8Array): void;
  /** Watches for the reply to a question that is about to be sent; returns what is to inspect it. */
  watch(inspector: ReplyInspector): ReplyInspector;
  /** The forwarder gets a question; what the observer of its exchanges sees until the next call was sent for it. */
  beforeForwarding(query: Query): void;
  /** The forwarder has it, and the client waits; or it has an answer at once. */
  afterForwarding(query: Query, group: ServerGroup, isWaiting: boolean): void;
}

/** Which answers are asked for again before they expire. */
export interface PrefetchOptions {
  /** Those that were asked for so often since they came. */
  readonly hits: number;
  /** When this share of their lifetime remains, which is as much more traffic. */
  readonly percent: number;
}

export interface ResolverOptions {
  readonly cache: AnswerCacheOptions;
  readonly forwarding: Omit<QueryForwarderOptions, 'stale' | 'instance' | 'onRefusal'>;
  /** How long a client waits for servers where there is an expired answer; it gets that at once by default. */
  readonly staleAfterMs?: number | undefined;
  /** No answer is asked for before it expires by default. */
  readonly prefetch?: PrefetchOptions | undefined;
  readonly subscriptions: Pick<Subscriptions, 'optionsFor' | 'find' | 'search' | 'publisherOf'>;
  /** Passes the changes of servers on; none by default. */
  readonly relay?: Pick<Relay, 'addTo' | 'translate' | 'instance'> | undefined;
  readonly policy: ResolverPolicy;
  readonly observer?: ResolverObserver | undefined;
  /** See what servers are asked, and reply. */
  readonly exchanges?: readonly ExchangeObserver[];
  /** Makes AAAA records of A records; none are made by default. */
  readonly dns64?: Dns64Options | undefined;
}

/** Counts how queries were answered; each number only grows. */
export class AnswerCounters {
  /** UDP queries that no question was sent for, and those that one was (dnsmasq's `hits` and `misses`). */
  unforwarded = 0;
  forwarded = 0;
  /** Questions that the cache was asked for, and answers that it had. */
  lookups = 0;
  cached = 0;
  /** Queries answered with expired records; with a time for servers also by why. */
  staleAnswers = 0;
  readonly staleReasons: Record<StaleReason, number> = { timeout: 0, failure: 0, known: 0 };
}

/** What a resolver has and does now, and what it has counted. */
export interface ResolverFacts {
  readonly cache: CacheFacts;
  readonly answers: Readonly<AnswerCounters>;
  readonly forwarder: ForwarderFacts;
}

/** What is known of a question before it is asked. */
export interface QuestionFacts {
  /** The servers that it goes to. */
  readonly servers: readonly ServerFacts[];
  /** Whether it is in flight, or failed a moment ago. */
  readonly state: QuestionState;
}

/** After a question was asked in vain, its expired answer is given at once for so long (RFC 8767 section 5). */
const RECHECK_MS = 30_000;
/** Answers with shorter lifetimes would be asked for all the time before they expire. */
const MIN_PREFETCHED_SECONDS = 10;
/** A reply to such a question has so much time beside what its servers take, and not more than this for both. */
const MARGIN_MS = 200;
const MAX_LEAD_SECONDS = 2;

/**
 * Answers questions from its cache, and asks servers what is not there:
 *
 *     fresh    the client gets it; a popular one that expires soon is asked for again (prefetch)
 *     expired  the client gets it, and it is asked for again; or, with a time for servers, the client waits for them
 *              first, unless they were asked in vain a moment ago
 *     none     the program answers itself, or servers are asked
 *
 * Which servers, what of a reply is cached and for how long are the policy's. Answers may change on their way out:
 *
 *     cached, expired       `#finish`: what the policy cuts, why, the OPT record, the version of the zone
 *     of a server           `ReplyPipeline.take`: what the policy changes, the version, the ceiling of TTLs
 *     own, or a refusal     never: they are written whole
 */
export class Resolver implements ChangeSink, Dns64Host {
  readonly counters = new AnswerCounters();
  // Programs have `describe`; tests look into the parts.
  readonly cache: AnswerCache;
  readonly forwarder: QueryForwarder;
  readonly #policy: ResolverPolicy;
  readonly #replies: ReplyPipeline | undefined;
  readonly #subscriptions: Pick<Subscriptions, 'optionsFor'>;
  readonly #relay: Pick<Relay, 'addTo'> | undefined;
  readonly #observer: ResolverObserver | undefined;
  readonly #isStaleLate: boolean;
  /** How the question that is about to be sent is sent: valid until the next one. */
  readonly #sent: { options: AddedOptions; inspector: ReplyInspector };
  readonly #prefetchOptions: PrefetchOptions | undefined;
  readonly #dns64: Dns64 | undefined;
  /** Counts what has changed: see `Dns64Host`. */
  #epoch = 0;
  /** Of questions that asked for the version of the zone, and of those that did not: a version is no use where none was asked for. */
  readonly #askedVersion = this.#inspectorsOf(true);
  readonly #askedNone = this.#inspectorsOf(false);

  constructor(options: ResolverOptions) {
    const { policy, subscriptions, relay, forwarding, staleAfterMs, exchanges = [] } = options;
    this.#policy = policy;
    this.#subscriptions = subscriptions;
    this.#relay = relay;
    this.#observer = options.observer;
    this.#sent = { options: NO_OPTIONS, inspector: this.#askedNone.pass };
    this.#isStaleLate = staleAfterMs !== undefined;
    this.#prefetchOptions = options.prefetch;
    this.cache = new AnswerCache(options.cache);
    const stale = staleAfterMs === undefined ? undefined : staleRules(staleAfterMs, this.cache);
    const { observer } = options;
    const onRefusal =
      observer &&
      ((answer: Uint8Array, errorCode: number) => observer.answered(answer, 'refused', errorCode));
    const instance = relay?.instance;
    this.forwarder = new QueryForwarder({ ...forwarding, stale, instance, onRefusal });
    for (const each of exchanges) this.forwarder.exchanges.add(each);
    const { cache } = this;
    const replies = policy.replies;
    const dns64 = options.dns64 && new Dns64(options.dns64, this);
    this.#dns64 = dns64;
    this.#replies =
      replies && new ReplyPipeline({ policy: replies, cache, subscriptions, relay, dns64 });
  }

  /**
   * Writes the answer to a question, or takes a reply path; returns what an Answerer does. `inner` answers what a Dns64 asks
   * besides; this resolver by default.
   */
  resolve(query: Query, out: Uint8Array, client: Client, inner: InnerAnswerer = this): number {
    const dns64 = this.#dns64;
    if (dns64?.isFor(query) !== true) return this.#resolve(query, out, client);
    if (dns64.isReverse(query)) return this.#resolveReverse(dns64, query, out, client, inner);
    if (!dns64.isServed(client)) return this.#resolve(query, out, client, dns64);
    const length = this.#resolve(query, out, dns64.clientOf(query, client, inner));
    return length === NO_ANSWER_YET ? length : dns64.complete(query, out, length, client, inner);
  }

  /** An answer that was made elsewhere in the program, of `length` bytes in `out`, as `resolve` gives it to clients. */
  translate(
    query: Query,
    out: Uint8Array,
    length: number,
    client: Client,
    inner: InnerAnswerer,
  ): number {
    const dns64 = this.#dns64;
    if (dns64?.isFor(query) !== true || !dns64.isServed(client)) return length;
    return dns64.complete(query, out, length, client, inner);
  }

  // What its Dns64 asks for.

  answerInner(query: Query, out: Uint8Array, client: Client): number {
    return this.resolve(query, out, client);
  }

  get epoch(): number {
    return this.#epoch;
  }

  storeMade(message: Buffer, reasons: Uint8Array): void {
    this.#replies?.storeMade(message, reasons);
  }

  #resolveReverse(
    dns64: Dns64,
    query: Query,
    out: Uint8Array,
    client: Client,
    inner: InnerAnswerer,
  ): number {
    const hit = this.#lookup(query, out);
    // Servers know nothing of the names below the prefix.
    if (hit !== undefined && dns64.isMade(hit.reasons) && !hit.isStale) {
      const { length } = hit;
      this.#giveFresh(hit, query, out, client);
      this.counters.cached++;
      return length;
    }
    return dns64.answerReverse(query, out, client, inner);
  }

  /** `besides`: what that has made is not for this client. */
  #resolve(query: Query, out: Uint8Array, client: Client, besides?: Dns64): number {
    const policy = this.#policy;
    const observer = this.#observer;
    let stale: OfferedAnswer | undefined;
    const hit = this.#lookup(query, out);
    if (hit !== undefined && besides?.isMade(hit.reasons) !== true) {
      const { length } = hit;
      if (hit.isStale) stale = this.#giveExpired(hit, query, out, client);
      else this.#giveFresh(hit, query, out, client);
      if (stale === undefined) {
        this.counters.cached++;
        return length;
      }
    }
    const own = policy.answerUncached(query, out, stale !== undefined, this.cache);
    if (own > 0) {
      this.#dns64?.admitReverse(out, own);
      observer?.answered(out.subarray(0, own), 'own');
      return own;
    }
    const group = policy.groupOf(query);
    if (group !== undefined) return this.#forward(query, out, client, group, stale);
    const unrouted = policy.answerUnrouted(query, out);
    this.#dns64?.admitReverse(out, unrouted);
    observer?.answered(out.subarray(0, unrouted), 'unrouted');
    return unrouted;
  }

  // What changes, and what is dropped with it.

  /**
   * The policy has other servers for questions: replies that are on their way are not cached. Of the domains (in wire
   * form) whose servers are others by configuration the cached answers are dropped, too.
   */
  configure(domains: readonly Uint8Array[] = []): void {
    this.#epoch++;
    this.forwarder.forgetQuestions();
    for (const domain of domains) this.cache.dropBelow(domain);
  }

  /**
   * Cached answers may be wrong: all of them, or, where a name of a zone has changed, those of the name and of all below
   * it; replies about the zone that are on their way may be older then.
   */
  invalidate(changed?: { readonly name: Uint8Array; readonly zone: Uint8Array }): void {
    this.#epoch++;
    if (changed === undefined) this.cache.clear();
    else {
      this.cache.dropNotified(changed.name, changed.zone);
      this.forwarder.forgetQuestions(changed.zone);
    }
  }

  // The same of a server that announces changes.

  dropBelow(domain: Uint8Array): void {
    this.#epoch++;
    this.cache.dropBelow(domain);
  }

  /** Returns how many answers were dropped. */
  dropChanged(name: Uint8Array, source: ChangeSource, serial: number, zone: Uint8Array): number {
    this.#epoch++;
    return this.cache.dropChanged(name, source, serial, zone);
  }

  pinnedAnswers(subscription: number): number {
    return this.cache.pinnedAnswers(subscription);
  }

  zoneAnswers(server: number): number {
    return this.cache.zoneAnswers(server);
  }

  /** What is in flight below a domain is not cached; what failed below another is asked again. */
  forgetQuestions(domain: Uint8Array, failed: Uint8Array): void {
    this.#epoch++;
    this.forwarder.forgetQuestions(domain, failed);
  }

  // What pages, metrics and explanations show; to look changes nothing.

  /** What it has and does now, and what it has counted. */
  describe(): ResolverFacts {
    return {
      cache: this.cache.describe(),
      answers: this.counters,
      forwarder: this.forwarder.describe(),
    };
  }

  /** What is known of a question, which is not asked. */
  describeQuestion(query: Query): QuestionFacts {
    const { nowMs } = this;
    const group = this.#policy.groupOf(query);
    const options = group && this.#subscriptions.optionsFor(group);
    return {
      servers: (group?.servers ?? []).map((each) => serverFacts(each, nowMs, group)),
      state: this.forwarder.look(query, options),
    };
  }

  /** What the cache has for the name of a question, and its type or another one: see `AnswerCache.inspect`. */
  inspect({ name, nameLength, type }: Query, other = type): CachedEntry | undefined {
    return this.cache.inspect(name, nameLength, other);
  }

  /** Every cached answer: see `AnswerCache.answers`. */
  cachedAnswers(): Iterable<CachedAnswer> {
    return this.cache.answers();
  }

  // A snapshot.

  /** The answers that clients may get when they have expired: see `AnswerCache.snapshotAnswers`. */
  snapshotAnswers(maxBytes: number, moreBytes: number): Iterable<SnapshotAnswer> {
    return this.cache.snapshotAnswers(maxBytes, moreBytes);
  }

  /** Stores an answer of before: see `AnswerCache.restore`. */
  restore(answer: CacheableAnswer, ageSeconds: number, expiredSeconds: number): boolean {
    return this.cache.restore(answer, ageSeconds, expiredSeconds);
  }

  /** No client gets an answer of a snapshot any more. */
  dropRestored(): void {
    this.cache.dropRestored();
  }

  /** The cached answers by the zone of their names, counted in turns of the event loop. */
  cachedByZone(
    zoneOf: (name: Uint8Array, length: number) => string,
  ): Promise<ReadonlyMap<string, EntryCounts>> {
    return this.cache.countBy(zoneOf);
  }

  /** How many queries over UDP made it send a question to servers. */
  get sentForUdp(): number {
    return this.forwarder.counters.sentForUdp;
  }

  /** The clock of servers and of what is in flight, in milliseconds. */
  get nowMs(): number {
    return this.forwarder.now();
  }

  /** Waits until what is in flight now is answered. */
  async settle(): Promise<void> {
    await this.forwarder.settle();
    // What the answers needed besides was asked when they came.
    if (this.#dns64 !== undefined) await this.forwarder.settle();
  }

  /** Waiting clients get no answer. May be called twice. */
  close(): void {
    this.forwarder.close();
    this.cache.close();
  }

  // The cache.

  #lookup(query: Query, out: Uint8Array): Hit | undefined {
    if (this.#replies === undefined) return undefined;
    this.counters.lookups++;
    if (!mayReadCache(query)) return undefined;
    const hit = this.cache.lookup(query, out);
    return hit === undefined ? undefined : this.#finish(hit, query, out);
  }

  /** Ends an answer that the cache wrote into `out`, as clients get it. */
  #finish(hit: Hit, query: Query, out: Uint8Array): Hit {
    const replies = this.#policy.replies;
    const mayCut = replies?.cutCached !== undefined && this.#dns64?.isMade(hit.reasons) !== true;
    const cutReason = mayCut ? replies.cutCached(hit, out, query.type) : undefined;
    // Without EDNS nothing is copied that no client sees.
    const reasons = query.hasEdns ? hit.reasons : NO_EDNS_OPTIONS;
    let options = cutReason ?? (hit.isStale ? this.#staleOption(hit) : NO_EDNS_OPTIONS);
    if (options.length === 0) options = reasons;
    else if (reasons.length > 0) options = Buffer.concat([options, reasons]);
    hit.length = appendOpt(query, out, hit.length, 0, options);
    if (query.asksZoneVersion && this.#relay !== undefined) {
      hit.length = this.#relay.addTo(query, out, hit.length, hit.subscription);
    }
    return hit;
  }

  /** Clients learn how long ago an answer expired where they waited for servers. */
  #staleOption({ isDenial, staleSeconds }: Hit): Uint8Array {
    return this.#isStaleLate ? ageOption(isDenial, staleSeconds) : STALE;
  }

  #giveFresh(hit: Hit, query: Query, out: Uint8Array, client: Client): void {
    client.answersFrom(SOURCE.CACHE);
    this.#observer?.answered(out.subarray(0, hit.length), 'cached');
    const prefetch = this.#prefetchOptions;
    if (prefetch === undefined || hit.hits < prefetch.hits) return;
    // In place of AAAA records that are made there is a new negative answer then, of which the next client gets what is made. A
    // reverse name that is made would get an answer that it does not have.
    const dns64 = this.#dns64;
    if (dns64?.isMade(hit.reasons) === true && dns64.isReverse(query)) return;
    this.#prefetch(prefetch, hit, query, client);
  }

  /** Undefined when the client gets it now; else what it gets unless the servers, which are to be asked, reply in time. */
  #giveExpired(hit: Hit, query: Query, out: Uint8Array, client: Client): OfferedAnswer | undefined {
    const message = out.subarray(0, hit.length);
    const group = this.#policy.groupOf(query);
    if (!this.#isStaleLate) {
      client.answersFrom(SOURCE.STALE);
      this.counters.staleAnswers++;
      this.#observer?.answered(message, 'stale');
      if (group !== undefined) this.#refresh(query, client, group, false);
      return undefined;
    }
    if (group !== undefined && !isHeld(hit.triedAtMs, group, this.forwarder.now)) {
      return new OfferedAnswer(message.slice(), this.counters, this.#observer);
    }
    client.answersFrom(SOURCE.STALE);
    noteGiven(message, 'known', this.counters, this.#observer);
    return undefined;
  }

  // The servers.

  #forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    group: ServerGroup,
    stale: StaleAnswer | undefined,
  ): number {
    const { forwarder } = this;
    if (this.#replies === undefined) return forwarder.forward(query, out, client, group);
    const observer = this.#observer;
    const { options, inspector } = this.#sentFor(query, client, group);
    if (observer === undefined) {
      return forwarder.forward(query, out, client, group, inspector, options, stale);
    }
    observer.beforeForwarding(query);
    const length = forwarder.forward(query, out, client, group, inspector, options, stale);
    observer.afterForwarding(query, group, length <= 0);
    return length;
  }

  /** Asks again for a popular answer that expires soon, so that no client has to wait. */
  #prefetch({ percent }: PrefetchOptions, hit: Hit, query: Query, client: Client): void {
    const group = this.#policy.groupOf(query);
    if (group === undefined || !mayFillCache(query) || !isDue(hit, percent, group)) return;
    if (this.#refresh(query, client, group, true)) hit.notePrefetched();
  }

  /** Asks again; no client waits for it. */
  #refresh(query: Query, client: Client, group: ServerGroup, isPrefetch: boolean): boolean {
    const { options, inspector } = this.#sentFor(query, client, group);
    return this.forwarder.refresh(query, group, inspector, client, options, isPrefetch);
  }

  /** With which options a question is sent to servers, and what inspects its reply. */
  #sentFor(query: Query, client: Client, group: ServerGroup): SentQuestion {
    const sent = this.#sent;
    sent.options = this.#subscriptions.optionsFor(group);
    const asked = sent.options === NO_OPTIONS ? this.#askedNone : this.#askedVersion;
    const inspector = inspectorFor(query, asked);
    sent.inspector = this.#observer === undefined ? inspector : this.#observer.watch(inspector);
    return this.#policy.beforeSending?.(query, client, sent) ?? sent;
  }

  #inspectorsOf(asksVersion: boolean): Inspectors {
    return {
      cache: (reply, isCacheable, outline) =>
        this.#replies!.take(reply, isCacheable, true, outline, asksVersion),
      cacheNew: (reply, isCacheable, outline) =>
        this.#replies!.take(reply, isCacheable, false, outline, asksVersion),
      pass: (reply, _isCacheable, outline) =>
        this.#replies!.take(reply, false, true, outline, asksVersion),
    };
  }
}

/** One for plain questions, one for others whose replies may be cached, too, and one for the rest. */
interface Inspectors {
  readonly cache: ReplyInspector;
  readonly cacheNew: ReplyInspector;
  readonly pass: ReplyInspector;
}

function inspectorFor(query: Query, { cache, cacheNew, pass }: Inspectors): ReplyInspector {
  if (!mayFillCache(query)) return pass;
  return mayReplaceCached(query) ? cache : cacheNew;
}

/** Whether the answer to a question may come from the cache. */
export function mayReadCache(query: Query): boolean {
  // Without RD the answer would show what other clients asked for (cache snooping), and cached answers
  // have no DNSSEC records.
  return query.isRecursionDesired && !query.isDnssecOk && query.class === CLASS.IN;
}

/** Whether the answer to a question may be stored in the cache. */
export function mayFillCache(query: Query): boolean {
  // An answer that was not validated upstream (CD) is only for the client that asked for it.
  return query.class === CLASS.IN && (query.flags & FLAG.CD) === 0;
}

/** Whether the answer to a question may replace a cached one: clients get answers to plain questions. */
export function mayReplaceCached(query: Query): boolean {
  return query.isRecursionDesired && !query.isDnssecOk;
}

/** How long the forwarder waits where there is an expired answer; what was asked in vain is noted in the cache. */
function staleRules(timeoutMs: number, cache: AnswerCache): StaleRules {
  return {
    timeoutMs,
    onTried: (question, atMs, isSilent) => {
      const length = question.length - QUESTION_FIXED_BYTES;
      cache.noteTried(question, length, readUint16(question, length), isSilent ? -atMs : atMs);
    },
  };
}

/** An expired answer for a client that asks a server. */
class OfferedAnswer implements StaleAnswer {
  readonly message: Uint8Array;
  readonly #counters: AnswerCounters;
  readonly #observer: ResolverObserver | undefined;

  constructor(
    message: Uint8Array,
    counters: AnswerCounters,
    observer: ResolverObserver | undefined,
  ) {
    this.message = message;
    this.#counters = counters;
    this.#observer = observer;
  }

  onGiven(reason: StaleReason): void {
    noteGiven(this.message, reason, this.#counters, this.#observer);
  }
}

function noteGiven(
  message: Uint8Array,
  reason: StaleReason,
  counters: AnswerCounters,
  observer: ResolverObserver | undefined,
): void {
  counters.staleAnswers++;
  counters.staleReasons[reason]++;
  observer?.gaveStale(message);
}

/**
 * Whether a question is not asked now: it was, in vain, less than 30 s ago. When no server replied to anything then,
 * only until one does, which is found out.
 */
function isHeld(triedAtMs: number, group: ServerGroup, now: () => number): boolean {
  if (triedAtMs === 0) return false;
  const nowMs = now();
  const sinceMs = Math.abs(triedAtMs);
  if (nowMs - sinceMs >= RECHECK_MS) return false;
  if (triedAtMs > 0) return true;
  if (group.repliedAtMs > sinceMs) return false;
  group.look(nowMs);
  return true;
}

/**
 * Whether it is time to ask for an answer again: PERCENT of the lifetime that the next answer adds remain, so that
 * there is as much more traffic, or what its servers may take for their reply.
 */
function isDue(
  { lifetimeSeconds, secondsLeft }: Hit,
  percent: number,
  group: ServerGroup,
): boolean {
  if (lifetimeSeconds < MIN_PREFETCHED_SECONDS) return false;
  const share = (lifetimeSeconds * percent) / (100 + percent);
  const lead = Math.min((group.replyLimitMs + MARGIN_MS) / 1_000, MAX_LEAD_SECONDS);
  return secondsLeft <= Math.max(share, lead);
}

const STALE = extendedErrorOption(EXTENDED_ERROR.STALE_ANSWER);

const DIGITS = 7;
const HEAD_BYTES = 6;
const BEFORE = 'expired ';
const AFTER = ' s ago';
const ZERO = 48;

/** Options by number of digits, which are written into them. */
const STALE_ANSWER = ageOptions(EXTENDED_ERROR.STALE_ANSWER);
const STALE_NXDOMAIN = ageOptions(EXTENDED_ERROR.STALE_NXDOMAIN);

function ageOptions(code: number): readonly Uint8Array[] {
  return Array.from({ length: DIGITS + 1 }, (_, digits) =>
    extendedErrorOption(code, BEFORE + '0'.repeat(digits) + AFTER),
  );
}

/** Says how long ago an answer expired, as an Extended DNS Error; valid until the next call. */
function ageOption(isDenial: boolean, seconds: number): Uint8Array {
  let rest = Math.min(Math.floor(seconds), 10 ** DIGITS - 1);
  let digits = 1;
  for (let more = rest; more >= 10; more = Math.floor(more / 10)) digits++;
  const option = (isDenial ? STALE_NXDOMAIN : STALE_ANSWER)[digits]!;
  for (let at = HEAD_BYTES + BEFORE.length + digits - 1; digits > 0; digits--, at--) {
    option[at] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  return option;
}
