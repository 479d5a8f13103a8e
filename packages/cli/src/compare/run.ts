import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '@kube-dns/base';
import { exchange, type ExchangeError, type ServerAddress } from '@kube-dns/transport';
import { codeOf, refusal } from '../errors.js';
import { encodeQuestion, SIDES, type Question, type Side, type Way } from '../question.js';
import {
  type Aspect,
  type CacheSigns,
  compareReplies,
  type Replied,
  type Verdict,
  readReply,
  recordKey,
  replyText,
  type Reply,
} from './compare-replies.js';
import type { CompareOptions } from './options.js';
import type { Pair, Tally } from './tally.js';

interface RunMeans {
  readonly ask: typeof ask;
  readonly clock: Clock;
}

/** A question asked in one way: the names that were asked, the replies, and how they differ. */
interface Exchange {
  readonly way: Way;
  readonly names: Readonly<Record<Side, string>>;
  readonly replies: Readonly<Record<Side, Replied>>;
  readonly verdict: Verdict;
}

/** TTLs are whole seconds: after this time one that counts down has another value. */
const AGEING_MS = 1_100;
/** After this many unanswered questions in a row a side is not asked in this way any more. */
const MAX_SILENT = 50;
const REAL: RunMeans = { ask, clock: systemClock };
const NOTHING_SEEN: CacheSigns = {
  ageing: { left: new Set(), right: new Set() },
  optional: new Set(),
};
/** The aspects that may be those of a cache. */
const OF_CACHES: ReadonlySet<Aspect> = new Set(['ttl', 'additional']);

/** Asks both sides all questions in all ways and adds the results to the tally. */
export class Run {
  readonly #options: CompareOptions;
  readonly #tally: Tally;
  readonly #means: RunMeans;
  readonly #pace: Pace;
  readonly #slots: Slots;
  /** Unanswered questions in a row by side and way, so that a dead side does not delay the run for hours. */
  readonly #silent = new Map<string, number>();

  constructor(options: CompareOptions, tally: Tally, means: RunMeans = REAL) {
    this.#options = options;
    this.#tally = tally;
    this.#means = means;
    this.#pace = new Pace(options.rate, means.clock);
    this.#slots = new Slots(options.concurrency);
  }

  /** Resolves when everything was asked, or when no way is left in which both sides reply. */
  async askAll(questions: Iterable<Question>): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    for (const question of questions) {
      // All ways of one question start before the next question, so that few are incomplete at any time.
      const exchanges: Promise<Exchange>[] = [];
      for (const way of this.#options.over) {
        if (SIDES.some((side) => this.#silentOver(side, way) >= MAX_SILENT)) {
          this.#tally.skipped++;
          continue;
        }
        await this.#slots.acquire();
        await this.#pace.turn();
        exchanges.push(this.#askBoth(question, way).finally(() => this.#slots.release()));
      }
      const done = this.#settle(question, exchanges).then(() => void inFlight.delete(done));
      inFlight.add(done);
    }
    await Promise.all(inFlight);
  }

  /** Whether a side was given up over all ways. */
  get deadSide(): Side | undefined {
    const { givenUp } = this.#tally;
    return SIDES.find((side) =>
      this.#options.over.every((way) =>
        givenUp.some((one) => one.side === side && one.way === way),
      ),
    );
  }

  /** Adds the result; a question whose TTLs or additional records differ is asked once more, to see whether a cache is the cause. */
  async #settle(question: Question, exchanges: readonly Promise<Exchange>[]): Promise<void> {
    const all = await Promise.all(exchanges);
    const doubtful = all.find(({ verdict }) =>
      verdict.findings.some(({ aspect }) => OF_CACHES.has(aspect)),
    );
    const seen = doubtful === undefined ? undefined : await this.#askAgain(doubtful, question.type);
    const pairs = all.map((exchange): Pair => {
      const { way, replies } = exchange;
      const verdict = seen === undefined ? exchange.verdict : this.#compare(replies, seen);
      // Equal replies, which most are, are not shown.
      if (verdict.findings.length === 0) return { way, verdict, left: [], right: [] };
      return { way, verdict, left: linesOf(replies.left), right: linesOf(replies.right) };
    });
    this.#tally.add(question, pairs);
  }

  /** Asks once more after a while: a TTL that is another one by then counts down in a cache. */
  async #askAgain({ way, names, replies }: Exchange, type: string): Promise<CacheSigns> {
    await new Promise<void>((resolve) => this.#means.clock.after(AGEING_MS, resolve));
    await this.#slots.acquire();
    await this.#pace.turn();
    const [left, right] = await Promise.all(
      SIDES.map(async (side) => {
        const later = await this.#ask(side, names[side], type, way);
        return {
          ageing: changedTtls(replies[side], later),
          optional: optionalOf(replies[side], later),
        };
      }),
    ).finally(() => this.#slots.release());
    return {
      ageing: { left: left!.ageing, right: right!.ageing },
      optional: new Set([...left!.optional, ...right!.optional]),
    };
  }

  #compare({ left, right }: Readonly<Record<Side, Replied>>, seen: CacheSigns): Verdict {
    const toleranceSeconds = this.#options['ttl-tolerance'];
    return compareReplies(left, right, { toleranceSeconds, seen });
  }

  async #askBoth(question: Question, way: Way): Promise<Exchange> {
    const { name, alternate } = question;
    // The side that is asked first waits a little longer for this process: the order alternates.
    const order = this.#tally.pairs % 2 === 0 ? SIDES : ([...SIDES].reverse() as readonly Side[]);
    const replies = Object.fromEntries(
      await Promise.all(
        order.map(async (side) => [side, await this.#ask(side, name, question.type, way)]),
      ),
    ) as Record<Side, Replied>;
    const names = { left: name, right: name };
    if (alternate !== undefined) {
      const side = await this.#askAlternate(replies, question, alternate, way);
      if (side !== undefined) names[side] = alternate;
    }
    return { way, names, replies, verdict: this.#compare(replies, NOTHING_SEEN) };
  }

  /**
   * The label of an endpoint is a hash on one side and its address on the other: the side without an answer
   * is asked for the other label, so that the difference counts as known only if both have the endpoint.
   * Resolves with the side that has it under the other label.
   */
  async #askAlternate(
    replies: Record<Side, Replied>,
    { type }: Question,
    alternate: string,
    way: Way,
  ): Promise<Side | undefined> {
    const withoutAnswer = SIDES.filter((side) => !hasAnswer(replies[side]));
    const [side] = withoutAnswer;
    if (side === undefined || withoutAnswer.length !== 1) return undefined;
    await this.#pace.turn();
    const other = await this.#ask(side, alternate, type, way);
    if (!hasAnswer(other)) return undefined;
    replies[side] = other;
    return side;
  }

  async #ask(side: Side, name: string, type: string, way: Way): Promise<Replied> {
    const { servers, timeout } = this.#options;
    const timeoutMs = timeout * 1_000;
    const asked = await this.#means.ask({ server: servers[side], name, type, way, timeoutMs });
    if (asked.reply === undefined) {
      this.#tally.noReply[side]++;
      this.#noteSilence(side, way, asked.failure);
      return { failure: asked.failure };
    }
    this.#noteReply(side, way);
    this.#tally.latency[side].add(asked.ms);
    return readReply(asked.reply) ?? { failure: 'the reply is malformed' };
  }

  #silentOver(side: Side, way: Way): number {
    return this.#silent.get(`${side} ${way}`) ?? 0;
  }

  #noteReply(side: Side, way: Way): void {
    // One that was still in flight opens no way again.
    if (this.#silentOver(side, way) < MAX_SILENT) this.#silent.delete(`${side} ${way}`);
  }

  #noteSilence(side: Side, way: Way, reason: string): void {
    const silent = this.#silentOver(side, way) + 1;
    this.#silent.set(`${side} ${way}`, silent);
    if (silent === MAX_SILENT) this.#tally.givenUp.push({ side, way, reason });
  }
}

function hasAnswer(replied: Replied): replied is Reply {
  return !('failure' in replied) && replied.answers.length > 0;
}

/** The records of a reply that a later one has with another TTL. */
function changedTtls(before: Replied, after: Replied): Set<string> {
  if ('failure' in before || 'failure' in after) return new Set();
  const recordsOf = ({ answers, authorities, additionals }: Reply) => [
    ...answers,
    ...authorities,
    ...additionals,
  ];
  const ttls = new Map(recordsOf(after).map((each) => [recordKey(each), each.ttlSeconds]));
  return new Set(
    recordsOf(before)
      .filter((each) => (ttls.get(recordKey(each)) ?? each.ttlSeconds) !== each.ttlSeconds)
      .map(recordKey),
  );
}

/** The additional records that only one of two replies of a side has. */
function optionalOf(before: Replied, after: Replied): Set<string> {
  if ('failure' in before || 'failure' in after) return new Set();
  const [first = [], second = []] = [before, after].map((each) => each.additionals.map(recordKey));
  return new Set([
    ...first.filter((key) => !second.includes(key)),
    ...second.filter((key) => !first.includes(key)),
  ]);
}

function linesOf(replied: Replied): string[] {
  return 'failure' in replied ? [replied.failure] : replyText(replied);
}

/** The result of a query: the reply and how long it took, or why there is none. */
type Asked =
  | { readonly reply: Buffer; readonly ms: number }
  | { readonly reply: undefined; readonly failure: string };

export interface Asking {
  readonly server: ServerAddress;
  readonly name: string;
  readonly type: string;
  readonly way: Way;
  readonly timeoutMs: number;
}

/** A datagram may be lost: a silent server is asked once more. */
const UDP_TRIES = 2;
/** This machine is out of ports, files or buffers for the moment: not a failure of the server. */
const SHORTAGES = new Set(['EADDRNOTAVAIL', 'EAGAIN', 'EMFILE', 'ENFILE', 'ENOBUFS']);
const SHORTAGE_PAUSE_MS = 200;
const SHORTAGE_PAUSES = 25;

/** Asks one server one question in one way; never rejects. */
async function ask(asking: Asking): Promise<Asked> {
  const tries = asking.way === 'tcp' ? 1 : UDP_TRIES;
  let failure = '';
  let pauses = 0;
  for (let attempt = 0; attempt < tries;) {
    const startedAt = performance.now();
    const { error, reply } = await askOnce(asking);
    if (reply !== null) return { reply, ms: performance.now() - startedAt };
    if (SHORTAGES.has(codeOf(error?.cause)) && pauses++ < SHORTAGE_PAUSES) {
      await delay(SHORTAGE_PAUSE_MS);
      continue;
    }
    failure = failureOf(error, asking.timeoutMs);
    if (error?.code !== 'timeout') break;
    attempt++;
  }
  return { reply: undefined, failure };
}

interface Exchanged {
  readonly error: ExchangeError | null;
  readonly reply: Buffer | null;
}

function askOnce({ server, name, type, way, timeoutMs }: Asking): Promise<Exchanged> {
  const query = encodeQuestion(name, type, way === 'edns');
  const protocol = way === 'tcp' ? 'tcp' : 'udp';
  return new Promise((resolve) => {
    exchange({ query, server, protocol, timeoutMs }, (error, reply) => resolve({ error, reply }));
  });
}

function failureOf(error: ExchangeError | null, timeoutMs: number): string {
  switch (error?.code) {
    case 'timeout':
      return `no reply within ${timeoutMs} ms`;
    case 'refused':
      return 'connection refused';
    case 'closed':
      return 'connection closed before the reply';
    default:
      return (error?.message ?? 'no reply').replace(/^\S+ over \w+: /, '');
  }
}

/** More than one: a side may forward a question to a silent server. */
const QUESTIONS = 3;

/** Throws a refusal that names a side without a reply to the first questions, and the reason. */
export async function checkReach(
  servers: Readonly<Record<Side, ServerAddress>>,
  questions: Iterable<Question>,
  way: Way,
  timeoutMs: number,
): Promise<void> {
  const first: Question[] = [];
  for (const question of questions) {
    if (first.push(question) === QUESTIONS) break;
  }
  const failures = await Promise.all(
    SIDES.map(async (side) => {
      const all = await Promise.all(
        first.map(({ name, type }) => ask({ server: servers[side], name, type, way, timeoutMs })),
      );
      const failed = all.filter((one) => one.reply === undefined);
      return failed.length < all.length ? undefined : failed[0]?.failure;
    }),
  );
  SIDES.forEach((side, index) => {
    const failure = failures[index];
    if (failure === undefined) return;
    throw refusal(`${side} ${addressText(servers[side])} does not answer: ${failure}`);
  });
}

/** An address and its port, as in the flags. */
export function addressText({ address, port }: ServerAddress): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Timers are late by a millisecond or more; turns missed within this time are made up for. */
const CATCH_UP_MS = 20;

/** Grants a bounded number of turns per second, evenly spaced. */
export class Pace {
  readonly #stepMs: number;
  readonly #clock: Clock;
  #nextAt: number;

  constructor(turnsPerSecond: number, clock: Clock = systemClock) {
    this.#stepMs = 1000 / turnsPerSecond;
    this.#clock = clock;
    this.#nextAt = clock.now();
  }

  /** Resolves when this turn is due; turns are granted in order. */
  async turn(): Promise<void> {
    const now = this.#clock.now();
    const at = Math.max(this.#nextAt, now - CATCH_UP_MS);
    this.#nextAt = at + this.#stepMs;
    if (at > now) await new Promise<void>((resolve) => this.#clock.after(at - now, resolve));
  }
}

/** Bounds the number of tasks in progress. */
class Slots {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Resolves when a slot is free; the caller must release it back. */
  async acquire(): Promise<void> {
    if (this.#used < this.#max) this.#used++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#used--;
    else next();
  }
}
