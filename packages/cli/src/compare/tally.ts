import {
  QUESTION_KINDS,
  SIDES,
  type Question,
  type QuestionKind,
  type Side,
  type Way,
} from '../question.js';
import {
  ASPECT_ORDER,
  ASPECTS,
  KNOWN_CLASSES,
  type Aspect,
  type Finding,
  type Verdict,
} from './compare-replies.js';

/** All classes of differences, the known ones first. */
export const CLASSES = { ...KNOWN_CLASSES, ...ASPECTS } as const;
export type DifferenceClass = keyof typeof CLASSES;
const CLASS_NAMES = Object.keys(CLASSES) as DifferenceClass[];

/** A question that the two sides answer differently. */
export interface Difference {
  readonly name: string;
  readonly type: string;
  readonly kind: QuestionKind;
  /** The ways in which anything differs. */
  readonly over: readonly Way[];
  /** Worst first, at least one. */
  readonly findings: readonly WayFinding[];
  /** The whole replies in the first way of the worst finding, as lines. */
  readonly left: readonly string[];
  readonly right: readonly string[];
}

/** A finding with the ways in which it is the same. */
interface WayFinding extends Finding {
  readonly over: readonly Way[];
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

/** What the classes of a run mean for its result. */
export interface ClassRules {
  /** Counted only. */
  readonly ignore: ReadonlySet<DifferenceClass>;
  /** Those that make the status 1. */
  readonly failOn: ReadonlySet<DifferenceClass>;
}

/** The questions that have a difference of one class. */
export interface ClassCount {
  questions: number;
  /** The first of them, as `NAME TYPE`. */
  readonly examples: string[];
}

/** How many examples a report shows of equal differences. */
export const MAX_EXAMPLES = 3;

function zeros<Key extends string>(keys: readonly Key[]): Record<Key, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
}

/** Collects all that a run finds. Each question is counted once in `same`, `known`, `aspects` or `notAsked`. */
export class Tally {
  /** Questions, by their kind. */
  readonly kinds = zeros(QUESTION_KINDS);
  /** Questions that have a difference of a class; one question may have several. */
  readonly classes: Readonly<Record<DifferenceClass, ClassCount>>;
  /** Questions that differ, by the worst aspect that is not ignored. */
  readonly aspects = zeros(ASPECT_ORDER as Aspect[]);
  readonly latency: Readonly<Record<Side, Latency>> = { left: new Latency(), right: new Latency() };
  readonly noReply = zeros(SIDES);
  readonly givenUp: GivenUp[] = [];
  readonly rules: ClassRules;
  readonly #differences: Difference[] = [];
  questions = 0;
  same = 0;
  /** Questions with nothing but known and ignored differences. */
  known = 0;
  notAsked = 0;
  /** Questions times ways; `skipped` were not asked, because one side was given up. */
  pairs = 0;
  skipped = 0;

  constructor(rules: ClassRules) {
    this.rules = rules;
    this.classes = Object.fromEntries(
      CLASS_NAMES.map((name): [string, ClassCount] => [name, { questions: 0, examples: [] }]),
    ) as Record<DifferenceClass, ClassCount>;
  }

  /** Questions that differ in something that is neither known nor ignored. */
  get different(): number {
    return this.#differences.length;
  }

  /** Whether there is a difference of a class that counts as a failure, or a side was given up. */
  get isFailed(): boolean {
    const { failOn } = this.rules;
    return this.givenUp.length > 0 || CLASS_NAMES.some((one) => failOn.has(one) && this.has(one));
  }

  /** Whether a difference of this class was found, and the class is not ignored. */
  has(one: DifferenceClass): boolean {
    return !this.rules.ignore.has(one) && this.classes[one].questions > 0;
  }

  /** Adds all that was found about one question. */
  add(question: Question, pairs: readonly Pair[]): void {
    const { name, type, kind } = question;
    this.questions++;
    this.kinds[kind]++;
    this.pairs += pairs.length;
    const all = mergedFindings(pairs);
    const found = new Set<DifferenceClass>([
      ...all.map(({ aspect }) => aspect),
      ...pairs.flatMap(({ verdict }) => verdict.classes),
    ]);
    for (const one of found) this.#count(one, `${name} ${type}`);
    const findings = all.filter(({ aspect }) => !this.rules.ignore.has(aspect));
    const [worst] = findings;
    if (worst === undefined) {
      if (pairs.length === 0) this.notAsked++;
      else if (found.size > 0) this.known++;
      else this.same++;
      return;
    }
    this.aspects[worst.aspect]++;
    const over = pairs.map(({ way }) => way).filter((way) => isFoundOver(findings, way));
    const { left = [], right = [] } = pairs.find(({ way }) => way === worst.over[0]) ?? {};
    this.#differences.push({ name, type, kind, over, findings, left, right });
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

  #count(one: DifferenceClass, example: string): void {
    const count = this.classes[one];
    count.questions++;
    if (count.examples.length < MAX_EXAMPLES) count.examples.push(example);
  }
}

function isFoundOver(findings: readonly WayFinding[], way: Way): boolean {
  return findings.some(({ over }) => over.includes(way));
}

/** By code units: the same order on every machine. */
function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The findings of all ways, equal ones once, worst first. */
function mergedFindings(pairs: readonly Pair[]): WayFinding[] {
  const merged = new Map<string, WayFinding & { over: Way[] }>();
  for (const { way, verdict } of pairs) {
    for (const finding of verdict.findings) {
      const key = JSON.stringify(finding);
      const known = merged.get(key);
      if (known === undefined) merged.set(key, { ...finding, over: [way] });
      else known.over.push(way);
    }
  }
  return [...merged.values()].sort(
    (one, other) => ASPECT_ORDER.indexOf(one.aspect) - ASPECT_ORDER.indexOf(other.aspect),
  );
}

/** Sixteen steps to each doubling: a percentile is at most 4.5 % off. */
const STEPS = 16;
const FIRST_MICROSECONDS = 16;
const BUCKETS = 25 * STEPS;

/** One bar of a histogram: how many replies took at most `toMs`, and more than the bar before. */
export interface LatencyBar {
  readonly toMs: number;
  readonly count: number;
}

/** Reply times of one server, in exponential buckets: its size does not depend on their number. */
export class Latency {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(ms: number): void {
    const steps = Math.ceil(Math.log2((ms * 1000) / FIRST_MICROSECONDS) * STEPS);
    const bucket = Math.min(Math.max(steps, 0), BUCKETS - 1);
    this.#counts[bucket] = this.#counts[bucket]! + 1;
    this.#count++;
  }

  /** The time in milliseconds within which this part of the replies arrived; 0 without replies. */
  percentileMs(part: number): number {
    let remaining = Math.max(1, Math.ceil(this.#count * part));
    if (this.#count === 0) return 0;
    for (let bucket = 0; ; bucket++) {
      remaining -= this.#counts[bucket]!;
      if (remaining <= 0 || bucket === BUCKETS - 1) return limitMs(bucket);
    }
  }

  /** The whole distribution, a bar for each doubling, from the first that is not empty to the last. */
  bars(): LatencyBar[] {
    const bars: LatencyBar[] = [];
    for (let from = 0; from < BUCKETS; from += STEPS) {
      // The very first bucket also holds all faster replies.
      const group = this.#counts.subarray(from === 0 ? 0 : from + 1, from + STEPS + 1);
      bars.push({
        toMs: limitMs(from + STEPS),
        count: group.reduce((sum, count) => sum + count, 0),
      });
    }
    const first = bars.findIndex(({ count }) => count > 0);
    const last = bars.findLastIndex(({ count }) => count > 0);
    return first < 0 ? [] : bars.slice(first, last + 1);
  }
}

function limitMs(bucket: number): number {
  return (FIRST_MICROSECONDS * 2 ** (bucket / STEPS)) / 1000;
}
