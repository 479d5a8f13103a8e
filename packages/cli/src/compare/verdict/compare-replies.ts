import { compareRecords } from './compare-records.js';
import type { KnownClass } from './known-classes.js';
import { recordText, type Reply, type ReplyRecord } from './reply.js';

/** The aspects in which two replies can differ, worst first. */
export const ASPECTS = {
  'no-reply': 'one side does not reply',
  'missing-answer': 'one side has no answer at all',
  rcode: 'another rcode',
  answer: 'other records in the answer',
  flags: 'another AA, RA or TC flag',
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
export function compareReplies(
  left: Replied,
  right: Replied,
  ttlToleranceSeconds: number,
): Verdict {
  if ('failure' in left || 'failure' in right) return compareFailures(left, right);
  const findings: Finding[] = [];
  const add = (aspect: Aspect, one: readonly string[], other: readonly string[]) =>
    findings.push({ aspect, left: one, right: other });
  if (left.rcode !== right.rcode) add('rcode', [left.rcode], [right.rcode]);
  if (flagsOf(left) !== flagsOf(right)) add('flags', [flagsOf(left)], [flagsOf(right)]);
  if (left.hasOpt !== right.hasOpt) add('edns', [optOf(left)], [optOf(right)]);
  // A truncated set cannot be compared; over TCP both are complete.
  if (left.isTruncated || right.isTruncated) return { findings: inOrder(findings), classes: [] };
  if (isEmpty(left) !== isEmpty(right)) {
    add('missing-answer', textOf(left.answers, left), textOf(right.answers, right));
  }
  const classes = new Set<KnownClass>();
  // Where only one side has a negative answer, the other sections differ in any case.
  const isDetailed = left.rcode === right.rcode && isEmpty(left) === isEmpty(right);
  for (const [aspect, section] of isDetailed ? SECTIONS : []) {
    const found = compareRecords(left[section], right[section], ttlToleranceSeconds);
    for (const known of found.classes) classes.add(known);
    if (found.onlyLeft.length > 0 || found.onlyRight.length > 0) {
      add(aspect, found.onlyLeft.map(recordText), found.onlyRight.map(recordText));
    }
    if (found.otherTtl.length > 0) {
      add(
        'ttl',
        found.otherTtl.map(([one]) => recordText(one)),
        found.otherTtl.map(([, other]) => recordText(other)),
      );
    }
  }
  return { findings: inOrder(findings), classes: [...classes] };
}

function compareFailures(left: Replied, right: Replied): Verdict {
  const [one, other] = [left, right].map((side) =>
    'failure' in side ? side.failure : side.rcode,
  ) as [string, string];
  // Neither side replied: there is nothing to compare.
  const isSame = 'failure' in left && 'failure' in right;
  const finding = { aspect: 'no-reply', left: [one], right: [other] } as const;
  return { findings: isSame ? [] : [finding], classes: [] };
}

function inOrder(findings: readonly Finding[]): Finding[] {
  return [...findings].sort(
    (one, other) => ASPECT_ORDER.indexOf(one.aspect) - ASPECT_ORDER.indexOf(other.aspect),
  );
}

function isEmpty({ answers }: Reply): boolean {
  return answers.length === 0;
}

function textOf(records: readonly ReplyRecord[], { rcode }: Reply): string[] {
  return records.length === 0 ? [`none, ${rcode}`] : records.map(recordText);
}

function flagsOf({ isAuthoritative, isRecursive, isTruncated }: Reply): string {
  const flags = [isAuthoritative && 'aa', isTruncated && 'tc', isRecursive && 'ra'];
  return flags.filter((flag) => flag !== false).join(' ') || 'none';
}

function optOf({ hasOpt }: Reply): string {
  return hasOpt ? 'OPT' : 'no OPT';
}
