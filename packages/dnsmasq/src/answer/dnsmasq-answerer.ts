import type { Log } from '@kube-dns/daemon';
import type { Answerer, Client } from '@kube-dns/transport';
import { AnswerWriter, appendOpt, EXTENDED_ERROR, type Query, RCODE, TYPE } from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';
import { mayFillCache, mayReadCache } from '../cache/cacheable.js';
import type { LocalData } from '../local/local-data.js';
import type { Router } from '../routing/router.js';
import type { Route } from '../routing/route.js';
import type { ReplySight } from '../upstream/flight.js';
import type { QueryForwarder } from '../upstream/query-forwarder.js';
import type { ChaosAnswerer } from './chaos.js';
import { FilteredTypes } from './filtered-types.js';
import type { QueryLog } from './query-log.js';
import { ReplyIntake, type ReplyIntakeOptions } from './reply-intake.js';

export interface DnsmasqAnswererOptions extends ReplyIntakeOptions {
  readonly cache: AnswerCache;
  readonly chaos: ChaosAnswerer;
  readonly forwarder: QueryForwarder;
  readonly router: Pick<Router, 'routes' | 'loops'>;
  readonly local: Pick<LocalData, 'answer' | 'answerByRule'>;
  readonly log: Log;
  /** Undefined unless queries are logged. */
  readonly queryLog?: QueryLog | undefined;
}

/** Types whose presence in the cache shows that a name is there (dnsmasq src/rfc1035.c, answer_request). */
const SIBLINGS = [TYPE.A, TYPE.AAAA];

/** Answers from local data and the cache, or forwards along the routes; dnsmasq's order of answering. */
export class DnsmasqAnswerer implements Answerer {
  /** UDP queries answered here, and those that led upstream (dnsmasq's `hits` and `misses`). */
  hits = 0;
  misses = 0;
  /** Queries answered from what was past its time. */
  staleAnswers = 0;
  readonly #options: DnsmasqAnswererOptions;
  readonly #writer = new AnswerWriter();
  readonly #intake: ReplyIntake;
  readonly #filtered: FilteredTypes;
  /** One for all questions whose replies may be kept, and one for the others. */
  readonly #keep: ReplySight = (reply, mayKeep) => this.#intake.take(reply, mayKeep, undefined);
  readonly #pass: ReplySight = (reply) => this.#intake.take(reply, false, undefined);

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
    let length = this.#answerFromMemory(query, out);
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
    this.misses += sent;
    if (length > 0 || sent === 0) this.hits++;
  }

  #answerFromMemory(query: Query, out: Uint8Array): number {
    const { chaos, local, queryLog } = this.#options;
    if (chaos.owns(query)) {
      const length = chaos.answer(query, out);
      queryLog?.answer('config', out.subarray(0, length));
      return length;
    }
    const length = local.answer(query, out);
    if (length === 0) return this.#answerFromCache(query, out);
    queryLog?.answer('config', out.subarray(0, length));
    return length;
  }

  #answerFromCache(query: Query, out: Uint8Array): number {
    const { cache, queryLog } = this.#options;
    if (!mayReadCache(query)) return 0;
    let length = cache.answer(query, out);
    if (length === 0) return this.#answerFromSibling(query, out);
    const { isStale } = cache;
    let extendedError = -1;
    if (isStale) {
      this.staleAnswers++;
      this.#renew(query);
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
  #renew(query: Query): void {
    const { router, forwarder } = this.#options;
    const { group } = router.routes.find(query);
    if (group !== undefined) forwarder.refresh(query, group, this.#sightFor(query));
  }

  #answerFromRoute(query: Query, out: Uint8Array, client: Client): number {
    const { router, forwarder, queryLog } = this.#options;
    const route = router.routes.find(query);
    const { group, servers } = route;
    if (group === undefined) return this.#refuse(query, out, route);
    queryLog?.forwarded(query, servers[0]!);
    const length = forwarder.forward(query, out, client, group, this.#sightFor(query));
    if (length > 0) queryLog?.answer('config', out.subarray(0, length));
    return length;
  }

  #sightFor(query: Query): ReplySight {
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
    this.#options.queryLog?.answer('config', out.subarray(0, length));
    return length;
  }
}
