import type { Subscriptions } from '@kube-dns/push';
import {
  type AddedOptions,
  type Client,
  type ForwarderCounters,
  type ReplyInspector,
  type ServerGroup,
  SOURCE,
  type StaleAnswer,
  type StaleReason,
  type StaleRules,
} from '@kube-dns/transport';
import {
  CLASS,
  FLAG,
  type Query,
  QUESTION_FIXED_BYTES,
  readUint16,
  type ReplyOutline,
} from '@kube-dns/wire';
import type { AnswerCache, Hit } from '../cache/answer-cache.js';

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

/** Sends queries to upstream servers: the `QueryForwarder`, or one that changes or logs what it sends. */
export interface Forwarding {
  /** Queries over UDP that made this send something upstream. */
  readonly counters: Pick<ForwarderCounters, 'sentForUdp'>;
  /** Why the last query was refused: an Extended DNS Error, negative for none. */
  readonly refusals: { readonly last: { readonly code: number } | undefined };
  /** Returns what an Answerer returns. */
  forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    group: ServerGroup,
    inspector: ReplyInspector,
    options: AddedOptions,
    stale?: StaleAnswer,
  ): number;
  /** Sends a query that no client waits for; `client` sent the query that showed the need. False when it is not sent. */
  refresh(
    query: Query,
    group: ServerGroup,
    inspector: ReplyInspector,
    client: Client,
    options: AddedOptions,
    isPrefetch?: boolean,
  ): boolean;
}

/** Counts how queries were answered; each number only grows. */
export class AnswerCounters {
  /** UDP queries answered without forwarding, and those forwarded (dnsmasq's `hits` and `misses`). */
  hits = 0;
  misses = 0;
  /** Queries answered with expired records; with `--stale` also by why. */
  staleAnswers = 0;
  readonly staleReasons: Record<StaleReason, number> = { timeout: 0, failure: 0, known: 0 };
}

/** Expired answers are given when the servers do not reply in time (`--stale`). */
export interface StaleAnswers {
  /** The forwarder's clock, in milliseconds. */
  readonly now: () => number;
  /** Called with each expired answer that is given. */
  readonly onGiven?: ((message: Uint8Array) => void) | undefined;
}

/** Which answers are asked for again before they expire (`--prefetch`). */
export interface PrefetchOptions {
  /** Those that were asked for so often since they came. */
  readonly hits: number;
  /** When this share of their lifetime is left, which is as much more traffic. */
  readonly percent: number;
}

export interface CachedForwardingParts {
  readonly cached: {
    /** As `CachedAnswers.answer`. */
    answer(query: Query, out: Uint8Array): Hit | undefined;
  };
  readonly forwarder: Forwarding;
  readonly intake: Intake;
  /** The servers of a question; undefined where it is not forwarded. */
  readonly groupOf: (query: Query) => ServerGroup | undefined;
  readonly subscriptions: Pick<Subscriptions, 'optionsFor'>;
  readonly counters: AnswerCounters;
  /** Undefined where expired answers are served at once, or not at all. */
  readonly stale?: StaleAnswers | undefined;
  /** Undefined where no answer is asked for before it expires. */
  readonly prefetch?: PrefetchOptions | undefined;
}

/** After a question was asked in vain, its expired answer is given at once for so long (RFC 8767 section 5). */
const RECHECK_MS = 30_000;
/** Answers with shorter lifetimes would be asked for all the time before they expire. */
const MIN_PREFETCHED_SECONDS = 10;
/** A reply to such a question has so much time beside what its servers take, and not more than this for both. */
const MARGIN_MS = 200;
const MAX_LEAD_SECONDS = 2;

/**
 * Answers from the cache, and from servers what is not there:
 *
 *     fresh    the client gets it; a popular one that expires soon is asked for again (prefetch)
 *     expired  the client gets it, and it is asked for again; or with `stale` the client waits for servers first,
 *              unless they were asked in vain a moment ago
 *     none     servers are asked
 */
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
    const { cached, prefetch } = this.#parts;
    this.#stale = undefined;
    if (!mayReadCache(query)) return 0;
    const hit = cached.answer(query, out);
    if (hit === undefined) return 0;
    if (hit.isStale) return this.#answerExpired(hit, query, out, client);
    const { length } = hit;
    if (prefetch !== undefined && hit.hits >= prefetch.hits) {
      this.#prefetch(prefetch, hit, query, client);
    }
    client.answersFrom(SOURCE.CACHE);
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

  /** Returns the length when the client gets it now. */
  #answerExpired(hit: Hit, query: Query, out: Uint8Array, client: Client): number {
    const { counters, groupOf, stale } = this.#parts;
    const { length } = hit;
    const group = groupOf(query);
    if (stale === undefined) {
      client.answersFrom(SOURCE.STALE);
      counters.staleAnswers++;
      if (group !== undefined) this.#refresh(query, client, group, false);
      return length;
    }
    const message = out.subarray(0, length);
    if (group !== undefined && !isHeld(hit.triedAtMs, group, stale.now)) {
      this.#stale = new OfferedAnswer(message.slice(), stale, counters);
      return 0;
    }
    client.answersFrom(SOURCE.STALE);
    noteGiven(message, 'known', stale, counters);
    return length;
  }

  /** Asks again for a popular answer that expires soon, so that no client has to wait. */
  #prefetch({ percent }: PrefetchOptions, hit: Hit, query: Query, client: Client): void {
    const group = this.#parts.groupOf(query);
    if (group === undefined || !mayFillCache(query) || !isDue(hit, percent, group)) return;
    if (this.#refresh(query, client, group, true)) hit.notePrefetched();
  }

  /** Asks again; no client waits for it. */
  #refresh(query: Query, client: Client, group: ServerGroup, isPrefetch: boolean): boolean {
    const { forwarder, subscriptions } = this.#parts;
    const options = subscriptions.optionsFor(group);
    const inspector = this.#inspectorFor(query);
    return forwarder.refresh(query, group, inspector, client, options, isPrefetch);
  }

  #inspectorFor(query: Query): ReplyInspector {
    if (!mayFillCache(query)) return this.#passReply;
    return mayReplaceCached(query) ? this.#cacheReply : this.#cacheNewReply;
  }
}

/** Whether the answer to a question may come from the cache. */
export function mayReadCache(query: Query): boolean {
  // Without RD the answer would show what other clients asked for (cache snooping), and cached answers
  // have no DNSSEC records.
  return query.isRecursionDesired && !query.isDnssecOk && query.class === CLASS.IN;
}

/** Whether the answer to a question may be stored in the cache. */
export function mayFillCache(query: Query): boolean {
  // An answer that was not validated upstream (CD) is only for the client that asked for it.
  return query.class === CLASS.IN && (query.flags & FLAG.CD) === 0;
}

/** Whether the answer to a question may replace a cached one: clients get answers to plain questions. */
export function mayReplaceCached(query: Query): boolean {
  return query.isRecursionDesired && !query.isDnssecOk;
}

/** How long the forwarder waits where there is an expired answer; what was asked in vain is noted in the cache. */
export function staleRules(
  { timeoutMs }: { readonly timeoutMs: number },
  cache: Pick<AnswerCache, 'noteTried'>,
): StaleRules {
  return {
    timeoutMs,
    onTried: (question, atMs, isSilent) => {
      const length = question.length - QUESTION_FIXED_BYTES;
      cache.noteTried(question, length, readUint16(question, length), isSilent ? -atMs : atMs);
    },
  };
}

/** An expired answer for a client that asks a server. */
class OfferedAnswer implements StaleAnswer {
  readonly message: Uint8Array;
  readonly #stale: StaleAnswers;
  readonly #counters: AnswerCounters;

  constructor(message: Uint8Array, stale: StaleAnswers, counters: AnswerCounters) {
    this.message = message;
    this.#stale = stale;
    this.#counters = counters;
  }

  onGiven(reason: StaleReason): void {
    noteGiven(this.message, reason, this.#stale, this.#counters);
  }
}

function noteGiven(
  message: Uint8Array,
  reason: StaleReason,
  { onGiven }: StaleAnswers,
  counters: AnswerCounters,
): void {
  counters.staleAnswers++;
  counters.staleReasons[reason]++;
  onGiven?.(message);
}

/**
 * Whether a question is not asked now: it was, in vain, less than 30 s ago. When no server replied to anything then,
 * only until one does, which is found out.
 */
function isHeld(triedAtMs: number, group: ServerGroup, now: () => number): boolean {
  if (triedAtMs === 0) return false;
  const nowMs = now();
  const sinceMs = Math.abs(triedAtMs);
  if (nowMs - sinceMs >= RECHECK_MS) return false;
  if (triedAtMs > 0) return true;
  if (group.repliedAtMs > sinceMs) return false;
  group.look(nowMs);
  return true;
}

/**
 * Whether it is time to ask for an answer again: PERCENT of the lifetime that the next answer adds are left, so that
 * there is as much more traffic, or what its servers may take for their reply.
 */
function isDue(
  { lifetimeSeconds, secondsLeft }: Hit,
  percent: number,
  group: ServerGroup,
): boolean {
  if (lifetimeSeconds < MIN_PREFETCHED_SECONDS) return false;
  const share = (lifetimeSeconds * percent) / (100 + percent);
  const lead = Math.min((group.replyLimitMs + MARGIN_MS) / 1_000, MAX_LEAD_SECONDS);
  return secondsLeft <= Math.max(share, lead);
}
