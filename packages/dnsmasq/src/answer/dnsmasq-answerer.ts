import {
  type AnswerCache,
  type CachingRules,
  type InnerAnswerer,
  mayReadCache,
  type Resolver,
  type ResolverPolicy,
} from '@kube-dns/resolver';
import type { Answerer, Client, ServerGroup } from '@kube-dns/transport';
import { AnswerWriter, type Query, RCODE, TYPE } from '@kube-dns/wire';
import { FILTERED_TYPE, LOCAL_DOMAIN, NO_SERVERS } from '../explanations.js';
import type { LocalData } from '../local/local-data.js';
import type { Router } from '../routing/router.js';
import type { EdnsOptions } from '../upstream/edns-options.js';
import type { ChaosAnswerer } from './chaos.js';
import type { AnswerDetails, QueryLog } from './query-log.js';
import { FilteredTypes } from './reply-filter.js';
import { DnsmasqReplies, type DnsmasqRepliesOptions } from './reply-policy.js';

interface AnswererParts {
  readonly chaos: Pick<ChaosAnswerer, 'owns' | 'answer'>;
  readonly local: Pick<LocalData, 'answer' | 'origins'>;
  readonly router: Pick<Router, 'loops'>;
  readonly resolver: Pick<Resolver, 'resolve' | 'counters' | 'sentForUdp'>;
  /** Undefined unless queries are logged. */
  readonly queryLog?: QueryLog | undefined;
}

/** dnsmasq's order of answering: the server itself, local data, the cache, rules, routes. */
export class DnsmasqAnswerer implements Answerer {
  readonly #parts: AnswererParts;
  readonly #localDetails: AnswerDetails;
  /** Local data has addresses of names, too, that become others (`--dns64`). */
  readonly #inner: InnerAnswerer = {
    answerInner: (query, out, client) => {
      const { local, resolver } = this.#parts;
      const length = local.answer(query, out, client);
      return length > 0 ? length : resolver.resolve(query, out, client);
    },
  };

  constructor(parts: AnswererParts) {
    this.#parts = parts;
    this.#localDetails = { origins: parts.local.origins };
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const { router, resolver, queryLog } = this.#parts;
    if (router.loops.isOwnProbe(query)) return 0;
    queryLog?.query(query, client);
    const sentBefore = resolver.sentForUdp;
    let length = this.#answerItself(query, out, client);
    if (length === 0) length = resolver.resolve(query, out, client, this.#inner);
    if (!query.isOverTcp) this.#count(length, resolver.sentForUdp - sentBefore);
    return length;
  }

  #answerItself(query: Query, out: Uint8Array, client: Client): number {
    const { chaos, local, queryLog } = this.#parts;
    const isChaos = chaos.owns(query);
    const length = isChaos ? chaos.answer(query, out) : local.answer(query, out, client);
    if (length > 0 && queryLog !== undefined) {
      const details = isChaos ? undefined : this.#localDetails;
      queryLog.answer('config', out.subarray(0, length), details);
    }
    return length;
  }

  /**
   * Counted after the answer is written: `hits.bind` does not count itself. A query that joined one in
   * flight is a hit; a stale answer is one, and a miss for the question that renews it.
   */
  #count(length: number, sent: number): void {
    const { counters } = this.#parts.resolver;
    counters.forwarded += sent;
    if (length > 0 || sent === 0) counters.unforwarded++;
  }
}

/** Types whose presence in the cache shows that a name exists (dnsmasq src/rfc1035.c, answer_request). */
const SIBLINGS = [TYPE.A, TYPE.AAAA];

export interface DnsmasqPolicyOptions extends Omit<
  DnsmasqRepliesOptions,
  'filtered' | 'local' | 'caching'
> {
  readonly caching: CachingRules;
  readonly local: Pick<LocalData, 'hasName' | 'answerByRule'>;
  /** Types that are removed from answers; 255 is questions of type ANY. */
  readonly filteredTypes: readonly number[];
  /** Undefined unless queries go upstream with EDNS options. */
  readonly ednsOptions?: EdnsOptions | undefined;
}

/** What dnsmasq decides of each question: rules, routes, and what becomes of replies. */
export class DnsmasqPolicy implements ResolverPolicy {
  readonly replies: DnsmasqReplies;
  readonly beforeSending: ResolverPolicy['beforeSending'];
  readonly #options: DnsmasqPolicyOptions;
  readonly #filtered: FilteredTypes;
  readonly #writer = new AnswerWriter();

  constructor(options: DnsmasqPolicyOptions) {
    const { filteredTypes, ednsOptions } = options;
    const filtered = new FilteredTypes(filteredTypes);
    this.#options = options;
    this.#filtered = filtered;
    this.replies = new DnsmasqReplies({ ...options, filtered });
    this.beforeSending =
      ednsOptions && ((query, client, sent) => ednsOptions.beforeSending(query, client, sent));
  }

  groupOf(query: Query): ServerGroup | undefined {
    return this.#options.router.routes.find(query).group;
  }

  answerUncached(query: Query, out: Uint8Array, isExpired: boolean, cache: AnswerCache): number {
    const mayBeKnown = !isExpired && this.#filtered.has(query.type) && mayReadCache(query);
    const length = mayBeKnown ? this.#answerFromSibling(query, out, cache) : 0;
    return length > 0 ? length : this.#options.local.answerByRule(query, out);
  }

  /** NXDOMAIN in a local domain, else REFUSED. */
  answerUnrouted(query: Query, out: Uint8Array): number {
    const { isLocal } = this.#options.router.routes.find(query);
    this.#writer.begin(query, out);
    if (isLocal) this.#writer.setRcode(RCODE.NXDOMAIN, LOCAL_DOMAIN);
    else this.#writer.setRcode(RCODE.REFUSED, NO_SERVERS);
    return this.#writer.finish();
  }

  /** A name with a cached address exists, so a filtered type needs no query to a server. */
  #answerFromSibling(query: Query, out: Uint8Array, cache: AnswerCache): number {
    const hasSibling = SIBLINGS.some((type) => type !== query.type && cache.has(query, type));
    if (!hasSibling) return 0;
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE.NOERROR, FILTERED_TYPE);
    return this.#writer.finish();
  }
}
