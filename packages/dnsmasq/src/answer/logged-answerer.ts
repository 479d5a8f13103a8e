import type {
  AddedOptions,
  Answerer,
  Client,
  ReplyInspector,
  ServerGroup,
  StaleAnswer,
} from '@kube-dns/transport';
import { EXTENDED_ERROR, type Query } from '@kube-dns/wire';
import type { Forwarding, LoopDetector } from '@kube-dns/resolver';
import type { AnswererParts } from './dnsmasq-answerer.js';
import type { AnswerDetails, AnswerSource, QueryLog } from './query-log.js';

/** A query that is refused because there are no servers. */
const NOT_READY: AnswerDetails = { errorCode: EXTENDED_ERROR.NOT_READY };

/** Logs each query before it is answered (`--log-queries`). */
export class LoggedAnswerer implements Answerer {
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
export function loggedParts(parts: AnswererParts, log: QueryLog): AnswererParts {
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
