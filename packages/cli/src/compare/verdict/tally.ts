import { SIDES, type Side, type Way } from '../asking/way.js';
import { type Question, QUESTION_KINDS, type QuestionKind } from '../questions/question.js';
import { type Aspect, ASPECT_ORDER, type Finding, type Verdict } from './compare-replies.js';
import { KNOWN_CLASSES, type KnownClass } from './known-classes.js';
import { Latency } from './latency.js';

/** A question to which the two sides answer differently, in the same way over each of `over`. */
export interface Difference {
  readonly name: string;
  readonly type: string;
  readonly kind: QuestionKind;
  readonly over: readonly Way[];
  /** Worst first, at least one. */
  readonly findings: readonly Finding[];
  /** The whole replies over the first of these ways, as lines. */
  readonly left: readonly string[];
  readonly right: readonly string[];
}

/** The result of one question asked in one way. */
export interface Pair {
  readonly way: Way;
  readonly verdict: Verdict;
  readonly left: readonly string[];
  readonly right: readonly string[];
}

/** A side that was given up over one way. */
export interface GivenUp {
  readonly side: Side;
  readonly way: Way;
  readonly reason: string;
}

function zeros<Key extends string>(keys: readonly Key[]): Record<Key, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
}

/** Collects all that a run finds. */
export class Tally {
  /** Questions, by their kind. */
  readonly kinds = zeros(QUESTION_KINDS);
  /** Questions that have a known difference over any way, by its class. */
  readonly classes = zeros(Object.keys(KNOWN_CLASSES) as KnownClass[]);
  /** Differences by the worst of their aspects. */
  readonly aspects = zeros(ASPECT_ORDER as Aspect[]);
  readonly latency: Readonly<Record<Side, Latency>> = { left: new Latency(), right: new Latency() };
  readonly noReply = zeros(SIDES);
  readonly givenUp: GivenUp[] = [];
  readonly #differences: Difference[] = [];
  questions = 0;
  pairs = 0;
  same = 0;
  known = 0;
  different = 0;
  /** Pairs that were not asked, because one side was given up. */
  skipped = 0;

  /** Whether anything differs beyond the known classes. */
  get isDifferent(): boolean {
    return this.#differences.length > 0 || this.givenUp.length > 0;
  }

  /** Adds all that was found about one question. */
  add(question: Question, pairs: readonly Pair[]): void {
    this.questions++;
    this.kinds[question.kind]++;
    const classes = new Set(pairs.flatMap(({ verdict }) => verdict.classes));
    for (const known of classes) this.classes[known]++;
    for (const { verdict } of pairs) this.#count(verdict);
    for (const alike of groups(pairs)) {
      const [first] = alike;
      const { name, type, kind } = question;
      const { left, right, verdict } = first;
      this.aspects[verdict.findings[0]!.aspect]++;
      const over = alike.map(({ way }) => way);
      this.#differences.push({ name, type, kind, over, findings: verdict.findings, left, right });
    }
  }

  /** All differences, worst first, then by name. */
  differences(): Difference[] {
    const rankOf = ({ findings }: Difference) => ASPECT_ORDER.indexOf(findings[0]!.aspect);
    return [...this.#differences].sort(
      (one, other) =>
        rankOf(one) - rankOf(other) ||
        compareText(one.name, other.name) ||
        compareText(one.type, other.type),
    );
  }

  #count({ findings, classes }: Verdict): void {
    this.pairs++;
    if (findings.length > 0) this.different++;
    else if (classes.length > 0) this.known++;
    else this.same++;
  }
}

/** By code units: the same order on every machine. */
function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The pairs that differ, grouped by equal findings. */
function groups(pairs: readonly Pair[]): (readonly [Pair, ...Pair[]])[] {
  const byFindings = new Map<string, [Pair, ...Pair[]]>();
  for (const pair of pairs) {
    if (pair.verdict.findings.length === 0) continue;
    const key = JSON.stringify(pair.verdict.findings);
    const alike = byFindings.get(key);
    if (alike === undefined) byFindings.set(key, [pair]);
    else alike.push(pair);
  }
  return [...byFindings.values()];
}
