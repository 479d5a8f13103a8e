import { monotonicMs } from '@kube-dns/testkit';
import type { Stalls } from '../fixtures/steady-client.js';
import { isMere, isNegative, type OracleQuestion, type World } from './world.js';

/** A world, and until when it was the last one: undefined while it is. */
interface Past {
  readonly world: World;
  endMs: number | undefined;
}

/** Nothing may be this old. */
const FORGOTTEN_MS = 45_000;

/** The worlds of the last 45 s. All moments are on the monotonic clock. */
export class History {
  /** The newest last. */
  readonly #past: Past[] = [];

  get world(): World {
    return this.#past.at(-1)!.world;
  }

  /** A world is the API's from now on; `endMs` is when the write of it had returned. */
  add(world: World, endMs: number): void {
    const last = this.#past.at(-1);
    if (last !== undefined) last.endMs = endMs;
    this.#past.push({ world, endMs: undefined });
    while ((this.#past[0]!.endMs ?? endMs) < endMs - FORGOTTEN_MS) this.#past.shift();
  }

  /**
   * Until when an answer to a question was right, the moment at which it was asked at the latest; undefined where it
   * was never right. `isRight` compares it with what was expected.
   */
  rightUntil(
    question: OracleQuestion,
    askedMs: number,
    isRight: (expected: string) => boolean,
  ): number | undefined {
    for (let i = this.#past.length - 1; i >= 0; i--) {
      const { world, endMs = Infinity } = this.#past[i]!;
      if (isRight(question.expected(world))) return Math.min(endMs, askedMs);
    }
    return undefined;
  }
}

/** An answer, and when its question was sent; undefined where there was none in time. */
export interface OracleAnswer {
  readonly question: OracleQuestion;
  readonly askedMs: number;
  readonly text: string | undefined;
}

/**
 * Whether dnsmasq got changes all the time while a question was answered; or a time like that, of a question to
 * kubedns itself: what is old there comes late from the API.
 */
export type Time = 'subscribed' | 'disturbed' | 'straight';

/** What became of the questions of one kind of time. */
class Tally {
  answers = 0;
  /** Those whose data was the API's no more when they were asked for. */
  old = 0;
  /** The oldest of each kind, less stalls of this machine, in ms. */
  oldestPositiveMs = 0;
  oldestNegativeMs = 0;
  /** The oldest, stalls included. */
  oldestSeenMs = 0;
  /** That were right at no time, or no answers to the question. */
  wrong = 0;
  /** SERVFAIL, REFUSED, or silence. */
  failed = 0;
}

const FAILURES = ['SERVFAIL', 'REFUSED'];
const MAX_EXAMPLES = 10;
const REMEMBERED_MS = 2_000;

/** Compares each answer with what the API had. */
export class Verdict {
  readonly tallies: Readonly<Record<Time, Tally>> = {
    subscribed: new Tally(),
    disturbed: new Tally(),
    straight: new Tally(),
  };
  readonly examples: string[] = [];
  readonly #history: History;
  readonly #stalls: Stalls;
  readonly #remarkableMs: number;
  #calm = { after: 'after the start', sinceMs: monotonicMs() };

  /** Answers of a subscribed time that are older than `remarkableMs` are examples. */
  constructor(history: History, stalls: Stalls, remarkableMs: number) {
    this.#history = history;
    this.#stalls = stalls;
    this.#remarkableMs = remarkableMs;
  }

  /** It is calm again after a fault. */
  calm(after: string, sinceMs: number): void {
    this.#calm = { after, sinceMs };
  }

  judge({ question, askedMs, text }: OracleAnswer, time: Time): void {
    const tally = this.tallies[time];
    if (text === undefined || FAILURES.some((failure) => text.startsWith(failure))) {
      // dnsmasq remembers a failure for a second (RFC 9520), also when its server is back.
      if (time === 'subscribed' && askedMs - this.#calm.sinceMs < REMEMBERED_MS) {
        this.tallies.disturbed.failed++;
        return;
      }
      tally.failed++;
      if (time === 'subscribed')
        this.#show(
          `${question.name} ${question.type}: ${text ?? 'silence'}, ${this.#since(askedMs)}`,
        );
      return;
    }
    tally.answers++;
    const untilMs = this.#rightUntil({ question, askedMs, text });
    if (untilMs === undefined) {
      tally.wrong++;
      this.#show(`${time}: ${question.name} ${question.type}: ${text} was never right`);
      return;
    }
    const seenMs = askedMs - untilMs;
    if (seenMs <= 0) return;
    tally.old++;
    this.#stalls.look();
    const ageMs = Math.max(0, seenMs - this.#stalls.within(untilMs, askedMs));
    tally.oldestSeenMs = Math.max(tally.oldestSeenMs, seenMs);
    if (isNegative(text)) tally.oldestNegativeMs = Math.max(tally.oldestNegativeMs, ageMs);
    else tally.oldestPositiveMs = Math.max(tally.oldestPositiveMs, ageMs);
    if (time === 'subscribed' && ageMs > this.#remarkableMs) {
      this.#show(`${question.name} ${question.type}: ${text} is ${ageMs.toFixed(0)} ms old`);
    }
  }

  /** NODATA may be made of NXDOMAIN: it is as old as what the cache has of the name. */
  #rightUntil({ question, askedMs, text }: OracleAnswer & { text: string }): number | undefined {
    const until = (isRight: (expected: string) => boolean) =>
      this.#history.rightUntil(question, askedMs, isRight);
    const exactMs = until((expected) => expected === text);
    if (exactMs === askedMs || !isMere(text)) return exactMs;
    if (until((expected) => expected.startsWith('NXDOMAIN')) === undefined) return exactMs;
    const madeMs = until((expected) => expected.startsWith('NOERROR'));
    return madeMs === undefined ? exactMs : Math.max(madeMs, exactMs ?? 0);
  }

  #since(askedMs: number): string {
    const { after, sinceMs } = this.#calm;
    return `${((askedMs - sinceMs) / 1_000).toFixed(1)} s ${after}`;
  }

  #show(example: string): void {
    if (this.examples.length === MAX_EXAMPLES) return;
    this.examples.push(`${example}; ${this.#calm.after}`);
  }
}
