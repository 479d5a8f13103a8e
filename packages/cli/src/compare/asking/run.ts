import { type Clock, systemClock } from '@kube-dns/base';
import type { ServerAddress } from '@kube-dns/transport';
import type { Question } from '../questions/question.js';
import { compareReplies, type Replied, type Verdict } from '../verdict/compare-replies.js';
import { type Reply, readReply, recordKey, replyText } from '../verdict/reply.js';
import type { Pair, Tally } from '../verdict/tally.js';
import { ask } from './ask.js';
import { Pace } from './pace.js';
import { Slots } from './slots.js';
import { type Side, SIDES, type Way } from './way.js';
import { WayGuard } from './way-guard.js';

export interface RunOptions {
  readonly servers: Readonly<Record<Side, ServerAddress>>;
  readonly ways: readonly Way[];
  /** Questions per second to each side. */
  readonly rate: number;
  /** Questions in flight to each side. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly ttlToleranceSeconds: number;
}

/** How a run asks and waits. */
export interface RunMeans {
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

/** The records of each side whose TTLs count down, by `recordKey`. */
type Ageing = Readonly<Record<Side, ReadonlySet<string>>>;

/** TTLs are whole seconds: after this time one that counts down has another value. */
const AGEING_MS = 1_100;
const REAL: RunMeans = { ask, clock: systemClock };
const NO_AGEING: Ageing = { left: new Set(), right: new Set() };

/** Asks both sides all questions in all ways and adds the results to the tally. */
export class Run {
  readonly #options: RunOptions;
  readonly #tally: Tally;
  readonly #means: RunMeans;
  readonly #pace: Pace;
  readonly #slots: Slots;
  readonly #guard: WayGuard;

  constructor(options: RunOptions, tally: Tally, means: RunMeans = REAL) {
    this.#options = options;
    this.#tally = tally;
    this.#means = means;
    this.#pace = new Pace(options.rate, means.clock);
    this.#slots = new Slots(options.concurrency);
    this.#guard = new WayGuard((side, way, reason) => tally.givenUp.push({ side, way, reason }));
  }

  /** Resolves when everything was asked, or when no way is left in which both sides reply. */
  async askAll(questions: Iterable<Question>): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    for (const question of questions) {
      // All ways of one question start before the next question, so that few are incomplete at any time.
      const exchanges: Promise<Exchange>[] = [];
      for (const way of this.#options.ways) {
        if (!this.#guard.isOpen(way)) {
          this.#tally.skipped++;
          continue;
        }
        await this.#slots.take();
        await this.#pace.turn();
        exchanges.push(this.#askBoth(question, way).finally(() => this.#slots.give()));
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
      this.#options.ways.every((way) =>
        givenUp.some((one) => one.side === side && one.way === way),
      ),
    );
  }

  /** Adds the result; a question whose TTLs differ is asked once more, to see which of them count down. */
  async #settle(question: Question, exchanges: readonly Promise<Exchange>[]): Promise<void> {
    const all = await Promise.all(exchanges);
    const doubtful = all.find(({ verdict }) =>
      verdict.findings.some(({ aspect }) => aspect === 'ttl'),
    );
    const ageing =
      doubtful === undefined ? undefined : await this.#findAgeing(doubtful, question.type);
    const pairs = all.map((exchange): Pair => {
      const { way, replies } = exchange;
      const verdict = ageing === undefined ? exchange.verdict : this.#compare(replies, ageing);
      // Equal replies, which most are, are not shown.
      if (verdict.findings.length === 0) return { way, verdict, left: [], right: [] };
      return { way, verdict, left: linesOf(replies.left), right: linesOf(replies.right) };
    });
    this.#tally.add(question, pairs);
  }

  /** Asks once more after a while: a TTL that is another one by then counts down in a cache. */
  async #findAgeing({ way, names, replies }: Exchange, type: string): Promise<Ageing> {
    await new Promise<void>((resolve) => this.#means.clock.after(AGEING_MS, resolve));
    await this.#slots.take();
    await this.#pace.turn();
    const [left, right] = await Promise.all(
      SIDES.map(async (side) => {
        const later = await this.#ask(side, names[side], type, way);
        return changedTtls(replies[side], later);
      }),
    ).finally(() => this.#slots.give());
    return { left: left!, right: right! };
  }

  #compare({ left, right }: Readonly<Record<Side, Replied>>, ageing: Ageing): Verdict {
    const { ttlToleranceSeconds } = this.#options;
    return compareReplies(left, right, { toleranceSeconds: ttlToleranceSeconds, ageing });
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
    return { way, names, replies, verdict: this.#compare(replies, NO_AGEING) };
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
    const { servers, timeoutMs } = this.#options;
    const asked = await this.#means.ask({ server: servers[side], name, type, way, timeoutMs });
    if (asked.reply === undefined) {
      this.#tally.noReply[side]++;
      this.#guard.note(side, way, asked.failure);
      return { failure: asked.failure };
    }
    this.#guard.note(side, way, undefined);
    this.#tally.latency[side].add(asked.ms);
    return readReply(asked.reply) ?? { failure: 'the reply is malformed' };
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

function linesOf(replied: Replied): string[] {
  return 'failure' in replied ? [replied.failure] : replyText(replied);
}
