import type { ServerAddress } from '@kube-dns/transport';
import type { Question } from '../questions/question.js';
import { compareReplies, type Replied } from '../verdict/compare-replies.js';
import { type Reply, readReply, replyText } from '../verdict/reply.js';
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

/** Asks both sides all questions in all ways and adds the results to the tally. */
export class Run {
  readonly #options: RunOptions;
  readonly #tally: Tally;
  readonly #pace: Pace;
  readonly #slots: Slots;
  readonly #guard: WayGuard;

  constructor(options: RunOptions, tally: Tally) {
    this.#options = options;
    this.#tally = tally;
    this.#pace = new Pace(options.rate);
    this.#slots = new Slots(options.concurrency);
    this.#guard = new WayGuard((side, way, reason) => tally.givenUp.push({ side, way, reason }));
  }

  /** Resolves when everything was asked, or when no way is left in which both sides reply. */
  async askAll(questions: Iterable<Question>): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    for (const question of questions) {
      // All ways of one question start before the next question, so that few are incomplete at any time.
      const pairs: Promise<Pair>[] = [];
      for (const way of this.#options.ways) {
        if (!this.#guard.isOpen(way)) {
          this.#tally.skipped++;
          continue;
        }
        await this.#slots.take();
        await this.#pace.turn();
        pairs.push(this.#askBoth(question, way).finally(() => this.#slots.give()));
      }
      const done = Promise.all(pairs).then((all) => {
        this.#tally.add(question, all);
        inFlight.delete(done);
      });
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

  async #askBoth(question: Question, way: Way): Promise<Pair> {
    const { name, alternate } = question;
    // The side that is asked first waits a little longer for this process: the order alternates.
    const order = this.#tally.pairs % 2 === 0 ? SIDES : ([...SIDES].reverse() as readonly Side[]);
    const replies = Object.fromEntries(
      await Promise.all(
        order.map(async (side) => [side, await this.#ask(side, name, question.type, way)]),
      ),
    ) as Record<Side, Replied>;
    if (alternate !== undefined) await this.#askAlternate(replies, question, alternate, way);
    const { left, right } = replies;
    const verdict = compareReplies(left, right, this.#options.ttlToleranceSeconds);
    // Equal replies, which most are, are not shown.
    if (verdict.findings.length === 0) return { way, verdict, left: [], right: [] };
    return { way, verdict, left: linesOf(left), right: linesOf(right) };
  }

  /**
   * The label of an endpoint is a hash on one side and its address on the other: the side without an answer
   * is asked for the other label, so that the difference counts as known only if both have the endpoint.
   */
  async #askAlternate(
    replies: Record<Side, Replied>,
    { type }: Question,
    alternate: string,
    way: Way,
  ): Promise<void> {
    const withoutAnswer = SIDES.filter((side) => !hasAnswer(replies[side]));
    const [side] = withoutAnswer;
    if (side === undefined || withoutAnswer.length !== 1) return;
    await this.#pace.turn();
    const other = await this.#ask(side, alternate, type, way);
    if (hasAnswer(other)) replies[side] = other;
  }

  async #ask(side: Side, name: string, type: string, way: Way): Promise<Replied> {
    const { servers, timeoutMs } = this.#options;
    const asked = await ask({ server: servers[side], name, type, way, timeoutMs });
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

function linesOf(replied: Replied): string[] {
  return 'failure' in replied ? [replied.failure] : replyText(replied);
}
