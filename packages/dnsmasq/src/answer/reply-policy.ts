import type { Log } from '@kube-dns/daemon';
import {
  type CacheableAnswer,
  type CachingRules,
  type ReplyPipeline,
  type ReplyPolicy,
  ReplyReader,
} from '@kube-dns/resolver';
import type { ServerGroup } from '@kube-dns/transport';
import {
  decodeName,
  expandKey,
  expandName,
  MAX_NAME_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
} from '@kube-dns/wire';
import { ALIASED, BOGUS, MALFORMED, REBINDING } from '../explanations.js';
import type { LocalData } from '../local/local-data.js';
import type { Route } from '../routing/routes.js';
import type { Router } from '../routing/router.js';
import {
  emptyReply,
  type FilteredTypes,
  ReplyFilter,
  type ReplyRules,
  withReason,
} from './reply-filter.js';

export interface DnsmasqRepliesOptions {
  readonly caching: CachingRules;
  readonly replies: ReplyRules;
  /** Types that are removed from answers; 255 is questions of type ANY. */
  readonly filtered: FilteredTypes;
  /** Ceiling on the TTLs that clients get, in seconds; 0 is none. */
  readonly maxTtlSeconds: number;
  readonly local: Pick<LocalData, 'hasName'>;
  readonly router: Pick<Router, 'routes'>;
  /** Whether clients wait for servers before they get an expired answer (`--stale`). */
  readonly isStaleLate: boolean;
  /** Whether servers answer for the cluster, whose expired answers are served only briefly; undefined where none does. */
  readonly isOfCluster: ((group: ServerGroup | undefined) => boolean) | undefined;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds that never fall; the clock of the process by default. */
  readonly now?: () => number;
}

/** The minimum time between two warnings of an attack. */
const REBIND_LOG_MS = 1_000;

/**
 * What dnsmasq does with the replies of servers, in its order (src/forward.c, process_reply): `--alias`, bogus and local
 * NXDOMAIN, rebinding, the cache, filters.
 */
export class DnsmasqReplies implements ReplyPolicy {
  readonly reader: ReplyReader;
  readonly maxTtlSeconds: number;
  readonly passesErrors = false;
  readonly endsExpired: boolean;
  readonly cutCached: ReplyPolicy['cutCached'];
  readonly #options: DnsmasqRepliesOptions;
  readonly #filter: ReplyFilter;
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  #nextRebindLogMs = 0;
  /** The route of the answer that may be stored, where that matters. */
  #route: Route | undefined;

  constructor(options: DnsmasqRepliesOptions) {
    this.#options = options;
    this.reader = new ReplyReader(options.caching);
    this.maxTtlSeconds = options.maxTtlSeconds;
    this.endsExpired = options.isStaleLate;
    this.#filter = new ReplyFilter(options.replies);
    const { filtered } = options;
    if (!filtered.isEmpty) this.cutCached = (hit, answer, type) => filtered.cut(hit, answer, type);
  }

  rewrite(received: Buffer): Buffer | null {
    const reply = this.#filter.replaceAddresses(received)
      ? withReason(received, ALIASED)
      : received;
    return this.#filter.isIgnored(reply) ? null : this.#withoutPrivateTargets(reply);
  }

  judge(reply: Buffer, replies: ReplyPipeline): Buffer | undefined {
    const bogusTtl = this.#filter.bogusTtl(reply);
    if (bogusTtl >= 0) {
      replies.storeNxdomain(reply, bogusTtl);
      return emptyReply(reply, RCODE.NXDOMAIN, BOGUS);
    }
    const isNxdomain = (readUint16(reply, 2) & RCODE_MASK) === RCODE.NXDOMAIN;
    if (isNxdomain && this.#isKnown(reply, replies)) replies.contradict(reply);
    if (!this.#filter.isRebinding(reply) || !this.#isOfDefaultServers(reply)) return undefined;
    this.#logRebinding(reply);
    return emptyReply(reply, RCODE.NOERROR, REBINDING);
  }

  mayStore(answer: CacheableAnswer): boolean {
    const { router, isOfCluster } = this.#options;
    const needsRoute = answer.cnames > 0 || isOfCluster !== undefined;
    this.#route = needsRoute ? router.routes.find(answer) : undefined;
    answer.isOfCluster = isOfCluster?.(this.#route?.group) === true;
    return true;
  }

  /**
   * Servers speak for the names that are routed to them: a target of their CNAMEs is cached under its own
   * name only when the question for it would have been sent to them, too. `--address` answers what the cache does not have, so
   * that it must not have a name with an address.
   */
  mayStoreTarget(target: CacheableAnswer): boolean {
    const { router, local } = this.#options;
    if (local.hasName(target.name, target.nameLength)) return false;
    return router.routes.find(target) === this.#route;
  }

  finish(reply: Buffer): Buffer {
    const { isMalformed, questionType } = this.reader;
    const filtered = isMalformed ? undefined : this.#options.filtered.apply(reply, questionType);
    return filtered ?? emptyReply(reply, RCODE.SERVFAIL, MALFORMED);
  }

  /** Whether a name exists that a server denies: for the type of the question then, and no other. */
  #isKnown(reply: Buffer, replies: ReplyPipeline): boolean {
    const length = this.#readName(reply);
    if (length < 0) return false;
    const isLocal = this.#options.local.hasName(this.#name.subarray(0, length));
    return isLocal || replies.isCachedName(this.#name, length);
  }

  #withoutPrivateTargets(reply: Buffer): Buffer {
    const rest = this.#filter.withoutPrivateTargets(reply);
    if (rest === reply || !this.#isOfDefaultServers(reply)) return reply;
    this.#logRebinding(reply);
    return rest ?? emptyReply(reply, RCODE.SERVFAIL, MALFORMED);
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
