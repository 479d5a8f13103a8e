import { becomesTrue, MeasureError } from '@kube-dns/testkit';
import { type Seen, tally, type Tally } from '../fixtures/steady-client.js';
import type { FaultContext } from './fault.js';

/** Only what never comes takes as long. */
export const LIMIT_MS = 60_000;
const STEP_MS = 20;

/** Waits for something; throws a MeasureError with these facts when it does not come. */
export async function waitFor(
  what: string,
  isThere: () => boolean | Promise<boolean>,
  facts: () => readonly string[] = () => [],
): Promise<void> {
  if (await becomesTrue(isThere, { limitMs: LIMIT_MS, stepMs: STEP_MS })) return;
  throw new MeasureError([`no ${what} within ${LIMIT_MS / 1_000} s`, ...facts()].join('; '));
}

type Claims = Pick<FaultContext, 'claim' | 'claimQuiet'>;
type IsSo = (seen: Seen) => boolean;

/** The kinds of questions that a client asks, and what a row claims of the answers of each. */
export class QuestionKinds<Kind extends string> {
  readonly #kindOf: (seen: Seen) => Kind;
  readonly #isRight: IsSo;
  readonly #lateMs: number;

  /** Right answers after `lateMs` are late: the machine is busy, or the claim does not hold. */
  constructor(kindOf: (seen: Seen) => Kind, isRight: IsSo, lateMs: number) {
    this.#kindOf = kindOf;
    this.#isRight = isRight;
    this.#lateMs = lateMs;
  }

  /** The questions of these kinds. */
  of(seen: readonly Seen[], kinds: readonly Kind[]): readonly Seen[] {
    return seen.filter((each) => kinds.includes(this.#kindOf(each)));
  }

  tally(seen: readonly Seen[], kind: Kind, isSo: IsSo = this.#isRight): Tally {
    return tally(this.of(seen, [kind]), isSo);
  }

  /** Claims that each question of these kinds was answered right, and soon. */
  claimRight(
    { claim, claimQuiet }: Claims,
    seen: readonly Seen[],
    kinds: readonly Kind[],
    isSo?: IsSo,
  ): void {
    for (const kind of kinds) {
      const result = this.tally(seen, kind, isSo);
      claim(result.right > 0 && result.wrong.length === 0, `${kind}: ${tallyText(result)}`);
      claimQuiet(result.right === result.asked, `${kind}: ${tallyText(result)}`);
      const slow = `${kind}: an answer took ${Math.round(result.slowestMs)} ms`;
      claimQuiet(result.slowestMs <= this.#lateMs, slow);
    }
  }

  /** Claims that each question of these kinds was answered right or had one of these failures, which some had. */
  claimFailures(
    { claim, claimQuiet }: Claims,
    seen: readonly Seen[],
    kinds: readonly Kind[],
    failures: readonly string[],
    isSo?: IsSo,
  ): void {
    for (const kind of kinds) {
      const result = this.tally(seen, kind, isSo);
      const names = Object.keys(result.failed);
      const haveAll = failures.every((name) => names.includes(name));
      claim(haveAll && result.wrong.length === 0, `${kind}: ${tallyText(result)}`);
      claimQuiet(names.length === failures.length, `${kind}: ${tallyText(result)}`);
    }
  }
}

/** What was seen, for a claim that does not hold. */
export function tallyText({ asked, right, wrong, failed }: Tally): string {
  const failures = Object.entries(failed).map(([name, count]) => `, ${count} ${name}`);
  return `${right} of ${asked} right, ${wrong.length} wrong${failures.join('')}`;
}
