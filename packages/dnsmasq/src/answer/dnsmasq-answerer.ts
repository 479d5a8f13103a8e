import type { Subscriptions } from '@kube-dns/push';
import {
  type AnswerCounters,
  CachedForwarding,
  type Forwarding,
  mayReadCache,
  type PrefetchOptions,
  type StaleAnswers,
} from '@kube-dns/resolver';
import type { Answerer, Client } from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';
import type { LocalData } from '../local/local-data.js';
import type { Router } from '../routing/router.js';
import type { ChaosAnswerer } from './chaos.js';
import type { FilteredAnswers } from './filtered-answers.js';
import type { Refusals } from './refusals.js';
import type { ReplyIntake } from './reply-intake.js';

export interface AnswererParts {
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
