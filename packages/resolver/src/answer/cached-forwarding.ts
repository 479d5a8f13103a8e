import type { Subscriptions } from '@kube-dns/push';
import {
  type Client,
  type ReplyInspector,
  type ServerGroup,
  SOURCE,
  type StaleAnswer,
} from '@kube-dns/transport';
import type { Query, ReplyOutline } from '@kube-dns/wire';
import { mayFillCache, mayReadCache, mayReplaceCached } from '../cache/cacheable.js';

import type { AnswerCounters } from './answer-counters.js';
import type { CachedAnswers } from './cached-answers.js';
import type { Forwarding } from './forwarding.js';
import type { Prefetch } from './prefetch.js';
import type { StaleAnswers } from './stale-answers.js';

/** Processes the replies of servers before clients get them, and stores what may be cached. */
export interface Intake {
  /** Null when the reply, which has this outline, is to be ignored. Without `mayReplace` no cached answer is replaced or hidden. */
  take(
    reply: Buffer,
    isCacheable: boolean,
    mayReplace?: boolean,
    outline?: ReplyOutline,
  ): Buffer | null;
}

export interface CachedForwardingParts {
  readonly cached: Pick<CachedAnswers, 'answer' | 'isStale' | 'triedAtMs'>;
  readonly forwarder: Forwarding;
  readonly intake: Intake;
  /** The servers of a question; undefined where it is not forwarded. */
  readonly groupOf: (query: Query) => ServerGroup | undefined;
  readonly subscriptions: Pick<Subscriptions, 'optionsFor'>;
  readonly counters: AnswerCounters;
  /** Undefined where expired answers are served at once, or not at all. */
  readonly stale?: StaleAnswers | undefined;
  /** Undefined where no answer is asked for before it expires. */
  readonly prefetch?: Prefetch | undefined;
}

/** Answers from the cache, and from servers what is not there: expired answers and prefetches are between the two. */
export class CachedForwarding {
  readonly #parts: CachedForwardingParts;
  /** The expired answer to the query that is being answered. */
  #stale: StaleAnswer | undefined;
  /** One for plain questions, one for others whose replies may be cached, too, and one for the rest. */
  readonly #cacheReply: ReplyInspector = (reply, isCacheable, outline) =>
    this.#parts.intake.take(reply, isCacheable, true, outline);
  readonly #cacheNewReply: ReplyInspector = (reply, isCacheable, outline) =>
    this.#parts.intake.take(reply, isCacheable, false, outline);
  readonly #passReply: ReplyInspector = (reply, _isCacheable, outline) =>
    this.#parts.intake.take(reply, false, true, outline);

  constructor(parts: CachedForwardingParts) {
    this.#parts = parts;
  }

  /**
   * Writes the cached answer and returns its length; 0 when there is none, or only an expired one that the client gets
   * unless the servers, which `forward` asks, reply in time.
   */
  answer(query: Query, out: Uint8Array, client: Client): number {
    const { cached, counters, prefetch, stale } = this.#parts;
    this.#stale = undefined;
    if (!mayReadCache(query)) return 0;
    const length = cached.answer(query, out);
    if (length === 0) return 0;
    if (!cached.isStale) {
      if (prefetch?.isPopular === true) this.#prefetch(prefetch, query, client);
      client.answersFrom(SOURCE.CACHE);
      return length;
    }
    if (stale !== undefined) return this.#offerStale(stale, query, out.subarray(0, length), client);
    client.answersFrom(SOURCE.STALE);
    counters.staleAnswers++;
    this.#renew(query, client);
    return length;
  }

  /** Whether there was an expired answer that the client gets unless there is a reply in time. */
  get isOffered(): boolean {
    return this.#stale !== undefined;
  }

  /** Asks the servers what `answer` had no answer to; returns what an Answerer does. */
  forward(query: Query, out: Uint8Array, client: Client, group: ServerGroup): number {
    const { forwarder, subscriptions } = this.#parts;
    const options = subscriptions.optionsFor(group);
    const inspector = this.#inspectorFor(query);
    const stale = this.#stale;
    this.#stale = undefined;
    return forwarder.forward(query, out, client, group, inspector, options, stale);
  }

  /** Returns the length when the client gets the expired answer now: its question is not asked. */
  #offerStale(stale: StaleAnswers, query: Query, message: Uint8Array, client: Client): number {
    const { cached, groupOf } = this.#parts;
    if (stale.isHeld(cached.triedAtMs, groupOf(query))) {
      client.answersFrom(SOURCE.STALE);
      stale.note(message, 'known');
      return message.length;
    }
    this.#stale = stale.offer(message);
    return 0;
  }

  /** Asks again for an answer that expires soon, so that no client has to wait. */
  #prefetch(prefetch: Prefetch, query: Query, client: Client): void {
    const { forwarder, groupOf, subscriptions } = this.#parts;
    const group = groupOf(query);
    if (group === undefined || !mayFillCache(query) || !prefetch.isDue(group)) return;
    const options = subscriptions.optionsFor(group);
    const inspector = this.#inspectorFor(query);
    if (forwarder.refresh(query, group, inspector, client, options, true)) prefetch.noteAsked();
  }

  /** Asks again for an answer that has expired; no client waits for it. */
  #renew(query: Query, client: Client): void {
    const { forwarder, groupOf, subscriptions } = this.#parts;
    const group = groupOf(query);
    if (group === undefined) return;
    const options = subscriptions.optionsFor(group);
    forwarder.refresh(query, group, this.#inspectorFor(query), client, options);
  }

  #inspectorFor(query: Query): ReplyInspector {
    if (!mayFillCache(query)) return this.#passReply;
    return mayReplaceCached(query) ? this.#cacheReply : this.#cacheNewReply;
  }
}
