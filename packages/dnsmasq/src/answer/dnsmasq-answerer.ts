import type { Relay, Subscriptions } from '@kube-dns/push';
import {
  type AnswerCounters,
  CachedForwarding,
  type Forwarding,
  type LoopDetector,
  mayReadCache,
  type PrefetchOptions,
  type StaleAnswers,
} from '@kube-dns/resolver';
import type {
  AddedOptions,
  Answerer,
  Client,
  QueryForwarder,
  ReplyInspector,
  ServerGroup,
  StaleAnswer,
} from '@kube-dns/transport';
import { AnswerWriter, EXTENDED_ERROR, type Query, RCODE } from '@kube-dns/wire';
import { LOCAL_DOMAIN, NO_SERVERS } from '../explanations.js';
import type { LocalData } from '../local/local-data.js';
import type { Router } from '../routing/router.js';
import type { Route } from '../routing/routes.js';
import { EdnsForwarder, type EdnsOptions } from '../upstream/edns-forwarder.js';
import type { ChaosAnswerer } from './chaos.js';
import { FilteredAnswers } from './filtered-answers.js';
import type { AnswerDetails, AnswerSource, QueryLog } from './query-log.js';
import { ReplyIntake, type ReplyIntakeOptions } from './reply-intake.js';

interface AnswererParts {
  readonly chaos: Pick<ChaosAnswerer, 'owns' | 'answer'>;
  readonly local: Pick<LocalData, 'answer' | 'answerByRule' | 'origins'>;
  readonly cached: Pick<FilteredAnswers, 'answer' | 'answerFromSibling'>;
  readonly router: Pick<Router, 'routes' | 'loops'>;
  readonly refusals: Pick<Refusals, 'answer'>;
  readonly forwarder: Forwarding;
  readonly intake: Pick<ReplyIntake, 'take'>;
  readonly subscriptions: Pick<Subscriptions, 'optionsFor'>;
  readonly counters: AnswerCounters;
  /** Undefined where expired answers are served at once, or not at all. */
  readonly stale?: StaleAnswers | undefined;
  /** Undefined where no answer is asked for before it expires. */
  readonly prefetch?: PrefetchOptions | undefined;
}

/** Answers from local data and the cache, or forwards along the routes; dnsmasq's order of answering. */
export class DnsmasqAnswerer implements Answerer {
  readonly #parts: AnswererParts;
  readonly #cachedForwarding: CachedForwarding;

  constructor(parts: AnswererParts) {
    this.#parts = parts;
    const { router } = parts;
    const groupOf = (query: Query) => router.routes.find(query).group;
    this.#cachedForwarding = new CachedForwarding({ ...parts, groupOf });
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const { router, forwarder, local } = this.#parts;
    if (router.loops.isOwnProbe(query)) return 0;
    const sentBefore = forwarder.counters.sentForUdp;
    let length = this.#answerFromMemory(query, out, client);
    if (length === 0) length = local.answerByRule(query, out);
    if (length === 0) length = this.#answerFromRoute(query, out, client);
    if (!query.isOverTcp) this.#count(length, forwarder.counters.sentForUdp - sentBefore);
    return length;
  }

  /**
   * Counted after the answer is written: `hits.bind` does not count itself. A query that joined one in
   * flight is a hit; a stale answer is one, and a miss for the question that renews it.
   */
  #count(length: number, sent: number): void {
    const { counters } = this.#parts;
    counters.misses += sent;
    if (length > 0 || sent === 0) counters.hits++;
  }

  #answerFromMemory(query: Query, out: Uint8Array, client: Client): number {
    const { chaos, local, cached } = this.#parts;
    if (chaos.owns(query)) return chaos.answer(query, out);
    const length = local.answer(query, out, client);
    if (length > 0) return length;
    const cachedLength = this.#cachedForwarding.answer(query, out, client);
    const hasNone = cachedLength === 0 && !this.#cachedForwarding.isOffered && mayReadCache(query);
    return hasNone ? cached.answerFromSibling(query, out) : cachedLength;
  }

  #answerFromRoute(query: Query, out: Uint8Array, client: Client): number {
    const { router, refusals } = this.#parts;
    const route = router.routes.find(query);
    const { group } = route;
    if (group === undefined) return refusals.answer(query, out, route);
    return this.#cachedForwarding.forward(query, out, client, group);
  }
}

export interface AnswererOptions
  extends ReplyIntakeOptions, Pick<AnswererParts, 'chaos' | 'counters'> {
  readonly forwarder: QueryForwarder;
  readonly local: ReplyIntakeOptions['local'] & AnswererParts['local'];
  readonly router: AnswererParts['router'];
  readonly subscriptions: ReplyIntakeOptions['subscriptions'] & AnswererParts['subscriptions'];
  readonly relayed?: Pick<Relay, 'addTo' | 'translate'> | undefined;
  /** Undefined unless queries go upstream with EDNS options. */
  readonly ednsOptions?: EdnsOptions | undefined;
  /** Undefined unless queries are logged. */
  readonly queryLog?: QueryLog | undefined;
  /** Undefined unless popular answers are asked for before they expire (`--prefetch`). */
  readonly prefetching?: PrefetchOptions | undefined;
}

/** The answerer; parts that log or add EDNS options are in it only where an option asks for them. */
export function createAnswerer(options: AnswererOptions): Answerer {
  const { cache, chaos, counters, forwarder, local, router, subscriptions } = options;
  const { ednsOptions, queryLog } = options;
  const parts: AnswererParts = {
    chaos,
    counters,
    local,
    router,
    cached: new FilteredAnswers(
      cache,
      options.filteredTypes,
      options.servesStaleLate === true,
      options.relayed,
    ),
    refusals: new Refusals(),
    forwarder: ednsOptions === undefined ? forwarder : new EdnsForwarder(forwarder, ednsOptions),
    intake: new ReplyIntake(options),
    subscriptions,
    prefetch: options.prefetching,
    stale: options.servesStaleLate === true ? staleAnswers(options) : undefined,
  };
  if (queryLog === undefined) return new DnsmasqAnswerer(parts);
  const answerer = new DnsmasqAnswerer(loggedParts(parts, queryLog));
  return new LoggedAnswerer(answerer, router.loops, queryLog);
}

function staleAnswers({ forwarder, queryLog }: AnswererOptions): StaleAnswers {
  return {
    now: () => forwarder.now(),
    onGiven: queryLog && ((message) => queryLog.stale(message)),
  };
}

/** A query that is refused because there are no servers. */
const NOT_READY: AnswerDetails = { errorCode: EXTENDED_ERROR.NOT_READY };

/** Logs each query before it is answered (`--log-queries`). */
class LoggedAnswerer implements Answerer {
  readonly #answerer: Answerer;
  readonly #loops: Pick<LoopDetector, 'isOwnProbe'>;
  readonly #log: QueryLog;

  constructor(answerer: Answerer, loops: Pick<LoopDetector, 'isOwnProbe'>, log: QueryLog) {
    this.#answerer = answerer;
    this.#loops = loops;
    this.#log = log;
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    if (!this.#loops.isOwnProbe(query)) this.#log.query(query, client);
    return this.#answerer.answer(query, out, client);
  }
}

/** The same parts; each logs what it answers. */
function loggedParts(parts: AnswererParts, log: QueryLog): AnswererParts {
  const { chaos, local, cached, refusals, stale } = parts;
  const logged = (
    source: AnswerSource,
    out: Uint8Array,
    length: number,
    details?: AnswerDetails,
  ): number => {
    if (length > 0) log.answer(source, out.subarray(0, length), details);
    return length;
  };
  return {
    ...parts,
    chaos: {
      owns: (query) => chaos.owns(query),
      answer: (query, out) => logged('config', out, chaos.answer(query, out)),
    },
    local: {
      answer: (query, out, client) => {
        const length = local.answer(query, out, client);
        return logged('config', out, length, { origins: local.origins });
      },
      answerByRule: (query, out) => logged('config', out, local.answerByRule(query, out)),
      origins: local.origins,
    },
    cached: {
      answer: (query, out) => {
        const hit = cached.answer(query, out);
        // With `--stale` it is logged once a client gets it.
        if (hit === undefined || (hit.isStale && stale !== undefined)) return hit;
        logged(hit.isStale ? 'cached-stale' : 'cached', out, hit.length);
        return hit;
      },
      answerFromSibling: (query, out) =>
        logged('config', out, cached.answerFromSibling(query, out)),
    },
    refusals: {
      answer: (query, out, route) =>
        logged('config', out, refusals.answer(query, out, route), NOT_READY),
    },
    forwarder: new LoggedForwarder(parts.forwarder, log),
  };
}

/** Logs the servers that a query is sent to, and their replies. */
class LoggedForwarder implements Forwarding {
  readonly #forwarder: Forwarding;
  readonly #log: QueryLog;

  constructor(forwarder: Forwarding, log: QueryLog) {
    this.#forwarder = forwarder;
    this.#log = log;
  }

  get counters(): Forwarding['counters'] {
    return this.#forwarder.counters;
  }

  get refusals(): Forwarding['refusals'] {
    return this.#forwarder.refusals;
  }

  forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    group: ServerGroup,
    inspector: ReplyInspector,
    options: AddedOptions,
    stale?: StaleAnswer,
  ): number {
    const before = group.servers.map(({ counts }) => counts.queries);
    const loggedInspector = this.#inspectorFor(inspector);
    const length = this.#forwarder.forward(
      query,
      out,
      client,
      group,
      loggedInspector,
      options,
      stale,
    );
    if (length > 0 && stale !== undefined) return length;
    const { code } = this.refusals.last ?? {};
    const details = code === undefined ? {} : { errorCode: code };
    if (length > 0) this.#log.answer('config', out.subarray(0, length), details);
    else this.#logForwarded(query, group, before);
    return length;
  }

  refresh(
    query: Query,
    group: ServerGroup,
    inspector: ReplyInspector,
    client: Client,
    options: AddedOptions,
    isPrefetch?: boolean,
  ): boolean {
    const own = this.#inspectorFor(inspector);
    return this.#forwarder.refresh(query, group, own, client, options, isPrefetch);
  }

  /** The reply is logged with the tag of the query that it answers. */
  #inspectorFor(inspector: ReplyInspector): ReplyInspector {
    const { tag } = this.#log;
    return (reply, isCacheable, outline) => {
      const answer = inspector(reply, isCacheable, outline);
      if (answer) this.#log.reply(answer, tag);
      return answer;
    };
  }

  /** A server whose count rose was asked. Over TCP the count rises later: the first server is logged. */
  #logForwarded(query: Query, { servers }: ServerGroup, before: readonly number[]): void {
    const asked = servers.filter(({ counts }, at) => counts.queries !== before[at]);
    for (const server of asked) this.#log.forwarded(query, server);
    if (asked.length > 0) return;
    if (query.isOverTcp) this.#log.forwarded(query, servers[0]!);
    else this.#log.duplicate();
  }
}

/** Answers queries whose route has no servers. */
class Refusals {
  readonly #writer = new AnswerWriter();

  /** NXDOMAIN in a local domain, else REFUSED; returns the length. */
  answer(query: Query, out: Uint8Array, { isLocal }: Pick<Route, 'isLocal'>): number {
    this.#writer.begin(query, out);
    if (isLocal) this.#writer.setRcode(RCODE.NXDOMAIN, LOCAL_DOMAIN);
    else this.#writer.setRcode(RCODE.REFUSED, NO_SERVERS);
    return this.#writer.finish();
  }
}
