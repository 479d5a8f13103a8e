import type { Answerer, Client, Forwarder, ServerAddress } from '@kube-dns/transport';
import {
  AnswerWriter,
  appendOpt,
  EXTENDED_ERROR,
  type Query,
  RCODE,
  StoredAnswer,
} from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';
import { isCacheableAnswer, mayFillCache, mayReadCache } from '../cache/cacheable.js';
import type { Router } from '../routing/router.js';
import type { Route } from '../routing/routes.js';
import type { ChaosAnswerer } from './chaos.js';
import { clampTtls, type TtlBounds } from './clamp-ttls.js';

export interface DnsmasqAnswererOptions {
  readonly cache: AnswerCache;
  readonly chaos: ChaosAnswerer;
  readonly forwarder: Forwarder;
  readonly router: Pick<Router, 'routes' | 'loops'>;
  /** Bounds of the TTLs that are kept, and of those that clients get. */
  readonly cachedTtls: TtlBounds;
  readonly sentTtls: TtlBounds;
}

/** Answers from the cache, or forwards along the routes; dnsmasq's order of answering. */
export class DnsmasqAnswerer implements Answerer {
  /** UDP queries answered here, and those that led upstream (dnsmasq's `hits` and `misses`). */
  hits = 0;
  misses = 0;
  readonly #options: DnsmasqAnswererOptions;
  readonly #writer = new AnswerWriter();

  constructor(options: DnsmasqAnswererOptions) {
    this.#options = options;
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const { router, sentTtls } = this.#options;
    if (router.loops.isOwnProbe(query)) return 0;
    const known = this.#answerFromMemory(query, out);
    if (known > 0) {
      clampTtls(out, known, sentTtls);
      return this.#count(query, known);
    }
    const route = router.routes.find(query);
    return this.#count(
      query,
      route.servers.length === 0
        ? this.#refuse(query, out, route)
        : this.#forward(query, out, client, route.servers),
    );
  }

  /** Counted after the answer is written: `hits.bind` does not count itself. */
  #count(query: Query, length: number): number {
    if (query.isOverTcp) return length;
    if (length > 0) this.hits++;
    else this.misses++;
    return length;
  }

  #answerFromMemory(query: Query, out: Uint8Array): number {
    const { chaos, cache } = this.#options;
    if (chaos.owns(query)) return chaos.answer(query, out);
    const length = mayReadCache(query) ? cache.answer(query, out) : 0;
    return length > 0 ? appendOpt(query, out, length) : 0;
  }

  #refuse(query: Query, out: Uint8Array, route: Route): number {
    this.#writer.begin(query, out);
    if (route.isLocal) this.#writer.setRcode(RCODE.NXDOMAIN);
    else this.#writer.setRcode(RCODE.REFUSED, EXTENDED_ERROR.NOT_READY);
    return this.#writer.finish();
  }

  #forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    servers: readonly ServerAddress[],
  ): number {
    const { forwarder, sentTtls } = this.#options;
    const { type } = query;
    // The query is the listener's and gone by the time of the reply.
    const name = mayFillCache(query) ? query.name.slice(0, query.nameLength) : undefined;
    return forwarder.forward(query, out, client, servers, (reply) => {
      if (name !== undefined) this.#store(name, type, reply);
      clampTtls(reply, reply.length, sentTtls);
    });
  }

  #store(name: Uint8Array, type: number, reply: Buffer): void {
    const { cache, cachedTtls } = this.#options;
    if (!isCacheableAnswer(reply, type)) return;
    let kept = reply;
    if (cachedTtls.minSeconds > 0 || cachedTtls.maxSeconds > 0) {
      // A copy: the first client gets the TTLs as they came.
      kept = Buffer.from(reply);
      clampTtls(kept, kept.length, cachedTtls);
    }
    const answer = StoredAnswer.fromResponse(kept, kept.length);
    if (answer !== undefined) cache.store(name, type, answer);
  }
}
