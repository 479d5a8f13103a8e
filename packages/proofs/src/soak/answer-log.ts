import { spreadOf } from '@kube-dns/testkit';

/** What became of the questions of some seconds. */
export interface AnswerFigures {
  readonly asked: number;
  readonly right: number;
  /** Neither right nor SERVFAIL. */
  readonly wrong: number;
  readonly servfails: number;
  /** Without an answer at the first try, whatever came later. */
  readonly firstTryLost: number;
  /** Without an answer after all tries. */
  readonly lost: number;
  /** Of right answers over UDP, from the first try, in ms; NaN when there were none. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How late the clients themselves were, for want of a core: no server can be faster. */
  readonly ownLateP99Ms: number;
  /** A few of those that were wrong, then of those that were lost, as text. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 5;

/** Counts answers between two looks. */
export class AnswerLog {
  #counts = { asked: 0, right: 0, wrong: 0, servfails: 0, firstTryLost: 0, lost: 0 };
  #latenciesMs: number[] = [];
  #latesMs: number[] = [];
  #wrong: string[] = [];
  #lost: string[] = [];

  /** The clients ran so much later than they wanted. */
  ranLate(byMs: number): void {
    this.#latesMs.push(byMs);
  }

  asked(): void {
    this.#counts.asked++;
  }

  answered(afterMs: number, isOverTcp: boolean): void {
    this.#counts.right++;
    // A connection has to be made first: another figure.
    if (!isOverTcp) this.#latenciesMs.push(afterMs);
  }

  /** An answer that is not right; `rcode` begins with the name of its rcode. */
  wrong(rcode: string, example: string): void {
    if (rcode.startsWith('SERVFAIL')) this.#counts.servfails++;
    else this.#counts.wrong++;
    if (this.#wrong.length < MAX_EXAMPLES) this.#wrong.push(example);
  }

  firstTryLost(): void {
    this.#counts.firstTryLost++;
  }

  lost(example: string): void {
    this.#counts.lost++;
    if (this.#lost.length < MAX_EXAMPLES) this.#lost.push(`no answer: ${example}`);
  }

  take(): AnswerFigures {
    const { p50, p99, max } = spreadOf(this.#latenciesMs);
    const figures = {
      ...this.#counts,
      p50Ms: p50,
      p99Ms: p99,
      maxMs: max,
      ownLateP99Ms: spreadOf(this.#latesMs).p99,
      examples: [...this.#wrong, ...this.#lost],
    };
    this.#counts = { asked: 0, right: 0, wrong: 0, servfails: 0, firstTryLost: 0, lost: 0 };
    this.#latenciesMs = [];
    this.#latesMs = [];
    this.#wrong = [];
    this.#lost = [];
    return figures;
  }
}
