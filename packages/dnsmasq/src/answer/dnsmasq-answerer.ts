import type { Log } from '@kube-dns/daemon';
import type {
  Answerer,
  Client,
  QueryForwarder,
  ReplyInspector,
  ServerGroup,
  UpstreamServer,
} from '@kube-dns/transport';
import { AnswerWriter, appendOpt, EXTENDED_ERROR, type Query, RCODE, TYPE } from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';
import { mayFillCache, mayReadCache } from '../cache/cacheable.js';
import type { LocalData } from '../local/local-data.js';
import type { Router } from '../routing/router.js';
import type { Route } from '../routing/route.js';
import type { ChangedQuery, EdnsOptions } from '../upstream/edns-options.js';
import type { AnswerCounters } from './answer-counters.js';
import type { ChaosAnswerer } from './chaos.js';
import { FilteredTypes } from './filtered-types.js';
import type { AnswerDetails, QueryLog } from './query-log.js';
import { ReplyIntake, type ReplyIntakeOptions } from './reply-intake.js';

export interface DnsmasqAnswererOptions extends ReplyIntakeOptions {
  readonly cache: AnswerCache;
  readonly chaos: ChaosAnswerer;
  readonly counters: AnswerCounters;
  readonly forwarder: QueryForwarder;
  /** Undefined unless queries go upstream with other EDNS options. */
  readonly ednsOptions?: EdnsOptions | undefined;
  readonly router: Pick<Router, 'routes' | 'loops'>;
  readonly local: Pick<LocalData, 'answer' | 'answerByRule' | 'knows' | 'origins'>;
  readonly log: Log;
  /** Undefined unless queries are logged. */
  readonly queryLog?: QueryLog | undefined;
}

/** What dnsmasq's log says of a refusal for want of servers. */
const NOT_READY: AnswerDetails = { errorDetail: ' (EDE: not ready)' };
/** Types whose presence in the cache shows that a name is there (dnsmasq src/rfc1035.c, answer_request). */
const SIBLINGS = [TYPE.A, TYPE.AAAA];

/** Answers from local data and the cache, or forwards along the routes; dnsmasq's order of answering. */
export class DnsmasqAnswerer implements Answerer {
  readonly #options: DnsmasqAnswererOptions;
  readonly #writer = new AnswerWriter();
  readonly #intake: ReplyIntake;
  readonly #filtered: FilteredTypes;
  /** One for all questions whose replies may be kept, and one for the others. */
  readonly #keep: ReplyInspector = (reply, mayKeep) => this.#intake.take(reply, mayKeep, undefined);
  readonly #pass: ReplyInspector = (reply) => this.#intake.take(reply, false, undefined);

  constructor(options: DnsmasqAnswererOptions) {
    this.#options = options;
    this.#intake = new ReplyIntake(options);
    this.#filtered = new FilteredTypes(options.filteredTypes);
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const { router, forwarder, local, queryLog } = this.#options;
    if (router.loops.isOwnProbe(query)) return 0;
    queryLog?.query(query, client);
    const sentBefore = forwarder.sentForUdp;
    let length = this.#answerFromMemory(query, out, client);
    if (length === 0) {
      length = local.answerByRule(query, out);
      if (length > 0) queryLog?.answer('config', out.subarray(0, length));
      else length = this.#answerFromRoute(query, out, client);
    }
    if (!query.isOverTcp) this.#count(length, forwarder.sentForUdp - sentBefore);
    return length;
  }

  /**
   * Counted after the answer is written: `hits.bind` does not count itself. A query that joined one under
   * way is a hit; an answer past its time is one, and a miss for the question that renews it.
   */
  #count(length: number, sent: number): void {
    const { counters } = this.#options;
    counters.misses += sent;
    if (length > 0 || sent === 0) counters.hits++;
  }

  #answerFromMemory(query: Query, out: Uint8Array, client: Client): number {
    const { chaos, local, queryLog } = this.#options;
    if (chaos.owns(query)) {
      const length = chaos.answer(query, out);
      queryLog?.answer('config', out.subarray(0, length));
      return length;
    }
    const length = local.answer(query, out, client);
    if (length === 0) return this.#answerFromCache(query, out, client);
    queryLog?.answer('config', out.subarray(0, length), { origins: local.origins });
    return length;
  }

  #answerFromCache(query: Query, out: Uint8Array, client: Client): number {
    const { cache, counters, queryLog } = this.#options;
    if (!mayReadCache(query)) return 0;
    let length = cache.answer(query, out);
    if (length === 0) return this.#answerFromSibling(query, out);
    const { isStale } = cache;
    let extendedError = -1;
    if (isStale) {
      counters.staleAnswers++;
      this.#renew(query, client);
      extendedError = EXTENDED_ERROR.STALE_ANSWER;
    }
    if (this.#filtered.has(query.type)) {
      const whole = length;
      length = this.#filtered.cut(out, length, query.type);
      if (length < whole) extendedError = EXTENDED_ERROR.FILTERED;
    }
    queryLog?.answer(isStale ? 'cached-stale' : 'cached', out.subarray(0, length));
    return appendOpt(query, out, length, 0, extendedError);
  }

  /** A name whose addresses are known exists: nothing need be asked for what is left out anyway. */
  #answerFromSibling(query: Query, out: Uint8Array): number {
    const { cache, queryLog } = this.#options;
    const hasSibling =
      this.#filtered.has(query.type) &&
      SIBLINGS.some((type) => type !== query.type && cache.has(query, type));
    if (!hasSibling) return 0;
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE.NOERROR, EXTENDED_ERROR.FILTERED);
    const length = this.#writer.finish();
    queryLog?.answer('config', out.subarray(0, length));
    return length;
  }

  /** Asks again for an answer that is past its time; nobody waits for it. */
  #renew(query: Query, client: Client): void {
    const { router, forwarder, ednsOptions } = this.#options;
    const { group } = router.routes.find(query);
    if (group === undefined) return;
    const inspector = this.#inspectorFor(query);
    if (ednsOptions === undefined) {
      forwarder.refresh(query, group, inspector);
      return;
    }
    const changed = ednsOptions.apply(query, client.address);
    forwarder.refresh(changed.query, group, inspectorOfChanged(ednsOptions, changed, inspector));
  }

  #answerFromRoute(query: Query, out: Uint8Array, client: Client): number {
    const { router, queryLog } = this.#options;
    const route = router.routes.find(query);
    const { group } = route;
    if (group === undefined) return this.#refuse(query, out, route);
    if (queryLog === undefined) return this.#forward(query, out, client, group);
    const before = group.servers.map(({ counts }) => counts.queries);
    const length = this.#forward(query, out, client, group);
    if (length > 0) queryLog.answer('config', out.subarray(0, length));
    else this.#logForwarded(query, group.servers, before);
    return length;
  }

  /** Whose count went up was asked for this query; over TCP that is known later, and the first is named. */
  #logForwarded(query: Query, servers: readonly UpstreamServer[], before: readonly number[]): void {
    const { queryLog } = this.#options;
    const asked = servers.filter(({ counts }, at) => counts.queries !== before[at]);
    for (const server of asked) queryLog?.forwarded(query, server);
    if (asked.length > 0) return;
    if (query.isOverTcp) queryLog?.forwarded(query, servers[0]!);
    else queryLog?.duplicate();
  }

  #forward(query: Query, out: Uint8Array, client: Client, group: ServerGroup): number {
    const { forwarder, ednsOptions } = this.#options;
    const inspector = this.#inspectorFor(query);
    if (ednsOptions === undefined) return forwarder.forward(query, out, client, group, inspector);
    const changed = ednsOptions.apply(query, client.address);
    const changedInspector = inspectorOfChanged(ednsOptions, changed, inspector);
    return forwarder.forward(changed.query, out, client, group, changedInspector);
  }

  #inspectorFor(query: Query): ReplyInspector {
    const mayKeep = mayFillCache(query);
    const { queryLog } = this.#options;
    if (queryLog === undefined) return mayKeep ? this.#keep : this.#pass;
    const tag = queryLog.tag;
    return (reply, isCurrent) => this.#intake.take(reply, mayKeep && isCurrent, tag);
  }

  #refuse(query: Query, out: Uint8Array, route: Route): number {
    this.#writer.begin(query, out);
    if (route.isLocal) this.#writer.setRcode(RCODE.NXDOMAIN);
    else this.#writer.setRcode(RCODE.REFUSED, EXTENDED_ERROR.NOT_READY);
    const length = this.#writer.finish();
    this.#options.queryLog?.answer('config', out.subarray(0, length), NOT_READY);
    return length;
  }
}

/** What a query said of its client decides whether a reply is one, and whether others may have it. */
function inspectorOfChanged(
  ednsOptions: EdnsOptions,
  { isForAll, subnet }: ChangedQuery,
  inspector: ReplyInspector,
): ReplyInspector {
  return (reply, mayKeep) => {
    if (subnet !== undefined && ednsOptions.isForeign(reply, subnet)) return null;
    return inspector(reply, mayKeep && isForAll);
  };
}
