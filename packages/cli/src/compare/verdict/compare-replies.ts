import type { Side } from '../asking/way.js';
import { compareRecords, type TtlRules } from './compare-records.js';
import { flagClasses, type KnownClass } from './known-classes.js';
import { recordText, type Reply, type ReplyRecord } from './reply.js';

/** The aspects in which a client can notice that two replies differ, worst first. */
export const ASPECTS = {
  'no-reply': 'one side does not reply',
  'missing-answer': 'one side has no answer at all',
  rcode: 'another rcode',
  answer: 'other records in the answer',
  truncated: 'one side alone is truncated (TC)',
  authority: 'other records in the authority section',
  additional: 'other records in the additional section',
  ttl: 'another TTL',
  edns: 'an OPT record on one side only',
} as const;
export type Aspect = keyof typeof ASPECTS;

/** The aspects in their order. */
export const ASPECT_ORDER = Object.keys(ASPECTS) as readonly Aspect[];

/** One difference between two replies, with what each side has. */
export interface Finding {
  readonly aspect: Aspect;
  readonly left: readonly string[];
  readonly right: readonly string[];
  /** The same of each side without names and data: equal in differences of one kind. */
  readonly shape: Readonly<Record<Side, string>>;
}

/** Both empty: equal. Only classes: known differences. Any finding: a difference. */
export interface Verdict {
  readonly findings: readonly Finding[];
  readonly classes: readonly KnownClass[];
}

/** A reply, or the reason why there is none. */
export type Replied = Reply | { readonly failure: string };

const SECTIONS = [
  ['answer', 'answers'],
  ['authority', 'authorities'],
  ['additional', 'additionals'],
] as const;

/** Compares the replies of two servers to one question. */
export function compareReplies(left: Replied, right: Replied, ttls: TtlRules): Verdict {
  if ('failure' in left || 'failure' in right) return compareFailures(left, right);
  const findings: Finding[] = [];
  const differ = (aspect: Aspect, one: string, other: string) => {
    if (one !== other) findings.push(plainFinding(aspect, one, other));
  };
  differ('rcode', left.rcode, right.rcode);
  differ('truncated', truncationOf(left), truncationOf(right));
  differ('edns', optOf(left), optOf(right));
  const classes = new Set<KnownClass>(flagClasses(left, right));
  // A truncated set cannot be compared; over TCP both are complete.
  if (left.isTruncated || right.isTruncated) return inOrder(findings, classes);
  if (isEmpty(left) !== isEmpty(right)) findings.push(missingAnswer(left, right));
  // Where only one side has a negative answer, the other sections differ in any case.
  const isDetailed = left.rcode === right.rcode && isEmpty(left) === isEmpty(right);
  for (const [aspect, section] of isDetailed ? SECTIONS : []) {
    const found = compareRecords(left[section], right[section], ttls);
    for (const known of found.classes) classes.add(known);
    const { onlyLeft, onlyRight, otherTtl } = found;
    if (onlyLeft.length + onlyRight.length > 0) {
      const shape = { left: typesOf(onlyLeft), right: typesOf(onlyRight) };
      findings.push({ aspect, left: textsOf(onlyLeft), right: textsOf(onlyRight), shape });
    }
    if (otherTtl.length > 0) findings.push(ttlFinding(otherTtl));
  }
  return inOrder(findings, classes);
}

function compareFailures(left: Replied, right: Replied): Verdict {
  // Neither side replied: there is nothing to compare.
  if ('failure' in left && 'failure' in right) return { findings: [], classes: [] };
  const [one, other] = [left, right].map((side) =>
    'failure' in side ? side.failure : side.rcode,
  ) as [string, string];
  const shape = { left: failureShape(left), right: failureShape(right) };
  return { findings: [{ aspect: 'no-reply', left: [one], right: [other], shape }], classes: [] };
}

function failureShape(replied: Replied): string {
  return 'failure' in replied ? NO_REPLY : 'reply';
}

/** The `shape` of a side without a reply, and of one without an answer before its rcode. */
export const NO_REPLY = 'no reply';
export const NO_ANSWER = 'none, ';

function plainFinding(aspect: Aspect, left: string, right: string): Finding {
  return { aspect, left: [left], right: [right], shape: { left, right } };
}

function missingAnswer(left: Reply, right: Reply): Finding {
  const shapeOf = (reply: Reply) =>
    isEmpty(reply) ? NO_ANSWER + reply.rcode : typesOf(reply.answers);
  const linesOf = (reply: Reply) => (isEmpty(reply) ? [shapeOf(reply)] : textsOf(reply.answers));
  const shape = { left: shapeOf(left), right: shapeOf(right) };
  return { aspect: 'missing-answer', left: linesOf(left), right: linesOf(right), shape };
}

function ttlFinding(pairs: readonly (readonly [left: ReplyRecord, right: ReplyRecord])[]): Finding {
  const isLonger = pairs.map(([one, other]) => one.ttlSeconds > other.ttlSeconds);
  const shapeOf = (some: readonly boolean[]) =>
    some.every(Boolean) ? 'longer' : some.some(Boolean) ? 'mixed' : 'shorter';
  return {
    aspect: 'ttl',
    left: pairs.map(([one]) => recordText(one)),
    right: pairs.map(([, other]) => recordText(other)),
    shape: { left: shapeOf(isLonger), right: shapeOf(isLonger.map((is) => !is)) },
  };
}

function inOrder(findings: readonly Finding[], classes: ReadonlySet<KnownClass>): Verdict {
  const sorted = [...findings].sort(
    (one, other) => ASPECT_ORDER.indexOf(one.aspect) - ASPECT_ORDER.indexOf(other.aspect),
  );
  return { findings: sorted, classes: [...classes] };
}

function isEmpty({ answers }: Reply): boolean {
  return answers.length === 0;
}

/** In one order, whatever that of the server is. */
function textsOf(records: readonly ReplyRecord[]): string[] {
  return records.map(recordText).sort();
}

function typesOf(records: readonly ReplyRecord[]): string {
  return [...new Set(records.map(({ type }) => type))].sort().join(' ') || 'none';
}

function truncationOf({ isTruncated }: Reply): string {
  return isTruncated ? 'truncated' : 'complete';
}

function optOf({ hasOpt }: Reply): string {
  return hasOpt ? 'OPT' : 'no OPT';
}
