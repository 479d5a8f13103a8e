import type { Log } from '@kube-dns/daemon';
import type { Relay, Subscriptions } from '@kube-dns/push';
import type { ServerGroup } from '@kube-dns/transport';
import {
  decodeName,
  expandKey,
  expandName,
  FLAG,
  markReasons,
  MAX_NAME_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  reasonsOf,
  RecordCursor,
  ReplyOutline,
  writeUint16,
} from '@kube-dns/wire';
import {
  type AnswerCache,
  type CacheableAnswer,
  type CachingRules,
  clampTtls,
  EVERY_TYPE,
  ReplyReader,
  ReplyPublisher,
} from '@kube-dns/resolver';
import { ALIASED, BOGUS, MALFORMED, REBINDING } from '../explanations.js';
import type { LocalData } from '../local/local-data.js';
import type { Route } from '../routing/routes.js';
import type { Router } from '../routing/router.js';

import { FilteredTypes } from './filtered-answers.js';
import { emptyReply, ReplyFilter, type ReplyRules, withReason } from './reply-filter.js';

export interface ReplyIntakeOptions {
  readonly cache: AnswerCache;
  readonly caching: CachingRules;
  readonly replies: ReplyRules;
  /** Types that are removed from answers; 255 is questions of type ANY. */
  readonly filteredTypes: readonly number[];
  /** Ceiling on the TTLs that clients get, in seconds; 0 is none. */
  readonly maxTtlSeconds: number;
  readonly local: Pick<LocalData, 'hasName'>;
  readonly router: Pick<Router, 'routes'>;
  readonly subscriptions: Pick<Subscriptions, 'find' | 'search' | 'publisherOf'>;
  /** Undefined where changes are not passed on. */
  readonly relayed?: Pick<Relay, 'translate'> | undefined;
  /**
   * Expired answers are served when there is no reply in time (`--stale`), so that one that is not cached ends them; at
   * once by default, if the cache has any.
   */
  readonly servesStaleLate?: boolean;
  /** Whether servers answer for the cluster, whose expired answers are served only briefly; none by default. */
  readonly isOfCluster?: ((group: ServerGroup | undefined) => boolean) | undefined;
  readonly log: Log;
  /** Milliseconds that never fall; the clock of the process by default. */
  readonly now?: () => number;
}

/** The minimum time between two warnings of an attack. */
const REBIND_LOG_MS = 1_000;

/**
 * Processes every reply of an upstream server before clients get it, in dnsmasq's order
 * (src/forward.c, process_reply): `--alias`, bogus and local NXDOMAIN, rebinding, the cache, filters.
 */
export class ReplyIntake {
  readonly #options: ReplyIntakeOptions;
  readonly #filter: ReplyFilter;
  readonly #filtered: FilteredTypes;
  readonly #reader: ReplyReader;
  readonly #cursor = new RecordCursor();
  /** Of a reply that comes without one. */
  readonly #outline = new ReplyOutline();
  #hasExtendedRcode = false;
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  #nextRebindLogMs = 0;
  /** The route of the question whose reply is stored. */
  #route: Route | undefined;
  /** The process that gave the reply, if it tells when its answers change. */
  readonly #teller: ReplyPublisher;
  /** Whether it knows every change of its name that was told; of all names, if it is not cached. */
  #isCurrent = false;
  /** Whether it has Extended DNS Errors. */
  #hasReasons = false;
  /** Whether it may take the place of a cached answer. */
  #mayReplace = true;
  /**
   * Whether the name of the question exists although the reply says NXDOMAIN, which is true of a CNAME's target then:
   * NODATA would be kept for it.
   */
  #isContradicted = false;
  readonly #isStored = (target: CacheableAnswer): boolean =>
    !this.#isContradicted &&
    this.#options.router.routes.find(target) === this.#route &&
    this.#isNew(target);

  constructor(options: ReplyIntakeOptions) {
    this.#options = options;
    this.#filter = new ReplyFilter(options.replies);
    this.#filtered = new FilteredTypes(options.filteredTypes);
    this.#reader = new ReplyReader(options.caching);
    this.#teller = new ReplyPublisher(options.subscriptions);
  }

  /**
   * Stores a cacheable reply and returns what the clients get: null when the reply is to be ignored.
   * The reply, which has this outline, may be changed in
   * place. Without `mayReplace` no cached answer is replaced or hidden.
   */
  take(
    received: Buffer,
    isCacheable: boolean,
    mayReplace = true,
    outline = this.#outline.read(received),
  ): Buffer | null {
    this.#mayReplace = mayReplace;
    this.#hasExtendedRcode = outline.hasExtendedRcode;
    this.#teller.find(received);
    const marked = outline.hasOptions ? markReasons(received, this.#cursor) : received;
    const reply = this.#filter.replaceAddresses(marked) ? withReason(marked, ALIASED) : marked;
    this.#hasReasons = reply !== received;
    if (this.#filter.isIgnored(reply)) return null;
    this.#isCurrent = false;
    const changed = this.#change(reply, isCacheable);
    this.#translate(changed);
    const { maxTtlSeconds } = this.#options;
    if (maxTtlSeconds > 0 || outline.hasTopBit)
      clampTtls(changed, changed.length, maxTtlSeconds, this.#cursor);
    return changed;
  }

  #change(reply: Buffer, isCacheable: boolean): Buffer {
    const rcode = readUint16(reply, 2) & RCODE_MASK;
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) return reply;
    const bogusTtl = this.#filter.bogusTtl(reply);
    if (bogusTtl >= 0) {
      this.#store(isCacheable && this.#reader.readAsNxdomain(reply, bogusTtl));
      return emptyReply(reply, RCODE.NXDOMAIN, BOGUS);
    }
    const isKnown = rcode === RCODE.NXDOMAIN && this.#isKnown(reply);
    this.#isContradicted = isKnown && this.#teller.isKnown;
    if (isKnown) {
      writeUint16(reply, 2, (readUint16(reply, 2) & ~RCODE_MASK) | FLAG.AA);
    }
    if (this.#filter.isRebinding(reply) && this.#isOfDefaultServers(reply)) {
      this.#logRebinding(reply);
      return emptyReply(reply, RCODE.NOERROR, REBINDING);
    }
    const hasCacheable = this.#reader.read(reply, this.#teller.isOfZone, this.#hasExtendedRcode);
    if (this.#hasReasons) this.#reader.answer.reasons = reasonsOf(reply, this.#cursor);
    if (this.#reader.isMalformed) return emptyReply(reply, RCODE.SERVFAIL, MALFORMED);
    const isStored = this.#store(hasCacheable && isCacheable);
    this.#isCurrent = isStored || (isCacheable && this.#teller.knowsAll);
    if (!hasCacheable && isCacheable) this.#dropExpired(reply);
    const filtered = this.#filtered.apply(reply, this.#reader.questionType);
    return filtered ?? emptyReply(reply, RCODE.SERVFAIL, MALFORMED);
  }

  /**
   * Servers speak for the names that are routed to them: a target of their CNAMEs is cached under its own
   * name only when the question for it would have been sent to them, too.
   */
  #store(isStored: boolean): boolean {
    const { answer } = this.#reader;
    if (!isStored || !this.#isNew(answer)) return false;
    const { cache, router, caching, isOfCluster } = this.#options;
    // It was read as one whose server tells when it changes.
    const isTold = answer.setSize === 0 && this.#teller.isOfZone && !caching.cachesNegatives;
    if (isTold && !this.#teller.has(answer)) return false;
    const needsRoute = answer.cnames > 0 || isOfCluster !== undefined;
    this.#route = needsRoute ? router.routes.find(answer) : undefined;
    answer.isOfCluster = isOfCluster?.(this.#route?.group) === true;
    return this.#teller.store(cache, answer, this.#isStored);
  }

  /** What is not cached is newer than what has expired, all the same. */
  #dropExpired(reply: Buffer): void {
    const { cache, servesStaleLate = false } = this.#options;
    const length = servesStaleLate && this.#mayReplace ? this.#readName(reply) : -1;
    if (length > 0) cache.dropExpired(this.#name, length, this.#reader.questionType);
  }

  /** The version that subscribers of this process get; what is contradicted here depends on more than the server. */
  #translate(reply: Buffer): void {
    const { relayed } = this.#options;
    if (relayed === undefined || this.#isContradicted) return;
    const instance = this.#teller.instanceFor(reply);
    if (instance !== undefined) relayed.translate(reply, instance, this.#isCurrent);
  }

  /** NXDOMAIN would hide the answers of every type. */
  #isNew(answer: CacheableAnswer): boolean {
    if (this.#mayReplace) return true;
    return answer.type !== EVERY_TYPE && !this.#options.cache.isLive(answer);
  }

  /**
   * Whether a name exists that a server denies: for the type of the question then, and no other. What the cache has of a
   * server that tells changes is no proof: this reply may be newer than the change on its way.
   */
  #isKnown(reply: Buffer): boolean {
    const { local, cache } = this.#options;
    const length = this.#readName(reply);
    if (length < 0) return false;
    if (local.hasName(this.#name.subarray(0, length))) return true;
    return !this.#teller.isOfZone && cache.hasName(this.#name, length);
  }

  /** The cluster and stub domains have private addresses: only other names are protected from them. */
  #isOfDefaultServers(reply: Buffer): boolean {
    const { routes } = this.#options.router;
    const nameLength = this.#readName(reply);
    return nameLength < 0 || routes.find({ name: this.#name, nameLength }) === routes.routes[0];
  }

  /** Reads the name of the question, lower-cased, and returns its length; -1 when it is malformed. */
  #readName(reply: Buffer): number {
    return expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
  }

  /** Rate-limited: the attacker controls the name and how often it arrives. */
  #logRebinding(reply: Buffer): void {
    const nowMs = this.#options.now?.() ?? performance.now();
    if (nowMs < this.#nextRebindLogMs) return;
    this.#nextRebindLogMs = nowMs + REBIND_LOG_MS;
    const length = expandName(reply, QUESTION_OFFSET, reply.length, this.#name);
    const name = length < 0 ? '' : decodeName(this.#name);
    this.#options.log.warn(`possible DNS-rebind attack detected: ${name}`);
  }
}
