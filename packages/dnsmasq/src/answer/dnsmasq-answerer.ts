import type { Answerer, Client, ReplyInspector, StaleAnswer } from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';
import {
  type AnswerCounters,
  mayFillCache,
  mayReadCache,
  mayReplaceCached,
  type Prefetch,
  type StaleAnswers,
  type Subscriptions,
} from '@kube-dns/resolver';
import type { LocalData } from '../local/local-data.js';
import type { Router } from '../routing/router.js';
import type { Forwarding } from '../upstream/forwarding.js';
import type { CachedAnswers } from './cached-answers.js';
import type { ChaosAnswerer } from './chaos.js';
import type { Refusals } from './refusals.js';
import type { ReplyIntake } from './reply-intake.js';

export interface AnswererParts {
  readonly chaos: Pick<ChaosAnswerer, 'owns' | 'answer'>;
  readonly local: Pick<LocalData, 'answer' | 'answerByRule' | 'origins'>;
  readonly cached: Pick<CachedAnswers, 'answer' | 'answerFromSibling' | 'isStale' | 'triedAtMs'>;
  readonly router: Pick<Router, 'routes' | 'loops'>;
  readonly refusals: Pick<Refusals, 'answer'>;
  readonly forwarder: Forwarding;
  readonly intake: Pick<ReplyIntake, 'take'>;
  readonly subscriptions: Pick<Subscriptions, 'optionsFor'>;
  readonly counters: AnswerCounters;
  /** Undefined where expired answers are served at once, or not at all. */
  readonly stale?: StaleAnswers | undefined;
  /** Undefined where no answer is asked for before it expires. */
  readonly prefetch?: Prefetch | undefined;
}

/** Answers from local data and the cache, or forwards along the routes; dnsmasq's order of answering. */
export class DnsmasqAnswerer implements Answerer {
  readonly #parts: AnswererParts;
  /** The expired answer to the query that is being answered. */
  #stale: StaleAnswer | undefined;
  /** One for plain questions, one for others whose replies may be cached, too, and one for the rest. */
  readonly #cacheReply: ReplyInspector = (reply, isCacheable) =>
    this.#parts.intake.take(reply, isCacheable);
  readonly #cacheNewReply: ReplyInspector = (reply, isCacheable) =>
    this.#parts.intake.take(reply, isCacheable, false);
  readonly #passReply: ReplyInspector = (reply) => this.#parts.intake.take(reply, false);

  constructor(parts: AnswererParts) {
    this.#parts = parts;
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const { router, forwarder, local } = this.#parts;
    if (router.loops.isOwnProbe(query)) return 0;
    const sentBefore = forwarder.counters.sentForUdp;
    this.#stale = undefined;
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
    const { chaos, local } = this.#parts;
    if (chaos.owns(query)) return chaos.answer(query, out);
    const length = local.answer(query, out, client);
    return length > 0 ? length : this.#answerFromCache(query, out, client);
  }

  #answerFromCache(query: Query, out: Uint8Array, client: Client): number {
    const { cached, counters, prefetch, stale } = this.#parts;
    if (!mayReadCache(query)) return 0;
    const length = cached.answer(query, out);
    if (length === 0) return cached.answerFromSibling(query, out);
    if (prefetch?.isPopular === true && !cached.isStale) this.#prefetch(prefetch, query, client);
    if (!cached.isStale) return length;
    if (stale !== undefined) return this.#offerStale(stale, query, out.subarray(0, length));
    counters.staleAnswers++;
    this.#renew(query, client);
    return length;
  }

  /** Returns the length when the client gets the expired answer now: its question is not asked. */
  #offerStale(stale: StaleAnswers, query: Query, message: Uint8Array): number {
    const { group } = this.#parts.router.routes.find(query);
    if (stale.isHeld(this.#parts.cached.triedAtMs, group)) {
      stale.note(message, 'known');
      return message.length;
    }
    this.#stale = stale.offer(message);
    return 0;
  }

  /** Asks again for an answer that expires soon, so that no client has to wait. */
  #prefetch(prefetch: Prefetch, query: Query, client: Client): void {
    const { router, forwarder, subscriptions } = this.#parts;
    const { group } = router.routes.find(query);
    if (group === undefined || !mayFillCache(query) || !prefetch.isDue(group)) return;
    const options = subscriptions.optionsFor(group);
    const inspector = this.#inspectorFor(query);
    if (forwarder.refresh(query, group, inspector, client, options, true)) prefetch.noteAsked();
  }

  /** Asks again for an answer that has expired; no client waits for it. */
  #renew(query: Query, client: Client): void {
    const { router, forwarder, subscriptions } = this.#parts;
    const { group } = router.routes.find(query);
    if (group === undefined) return;
    const options = subscriptions.optionsFor(group);
    forwarder.refresh(query, group, this.#inspectorFor(query), client, options);
  }

  #answerFromRoute(query: Query, out: Uint8Array, client: Client): number {
    const { router, refusals, forwarder, subscriptions } = this.#parts;
    const route = router.routes.find(query);
    const { group } = route;
    if (group === undefined) return refusals.answer(query, out, route);
    const options = subscriptions.optionsFor(group);
    const inspector = this.#inspectorFor(query);
    return forwarder.forward(query, out, client, group, inspector, options, this.#stale);
  }

  #inspectorFor(query: Query): ReplyInspector {
    if (!mayFillCache(query)) return this.#passReply;
    return mayReplaceCached(query) ? this.#cacheReply : this.#cacheNewReply;
  }
}
