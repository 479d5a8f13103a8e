import type { Seen } from './steady-client.js';

/** What became of some questions, held against what is right. */
export interface Tally {
  readonly asked: number;
  readonly right: number;
  /** Neither right nor a failure that says so: another address, a denial, nothing in an answer. */
  readonly wrong: readonly Seen[];
  /** SERVFAIL, REFUSED and silence, by their names. */
  readonly failed: Readonly<Record<string, number>>;
  /** Of the right answers. */
  readonly slowestMs: number;
  /** Of the failures other than silence. */
  readonly slowestFailureMs: number;
}

const FAILURES: ReadonlySet<string> = new Set(['SERVFAIL', 'REFUSED', 'silence']);

/** Counts what clients saw. */
export function tally(seen: readonly Seen[], isRight: (seen: Seen) => boolean): Tally {
  const right = seen.filter(isRight);
  const others = seen.filter((each) => !isRight(each));
  const failed: Record<string, number> = {};
  for (const { text } of others) if (FAILURES.has(text)) failed[text] = (failed[text] ?? 0) + 1;
  return {
    asked: seen.length,
    right: right.length,
    wrong: others.filter(({ text }) => !FAILURES.has(text)),
    failed,
    slowestMs: longest(right),
    slowestFailureMs: longest(others.filter(({ text }) => text !== 'silence')),
  };
}

/** From the first to the last question that was not answered right within `lateMs`; 0 without one. */
export function troubleMs(
  seen: readonly Seen[],
  isRight: (seen: Seen) => boolean,
  lateMs: number,
): number {
  const troubled = seen.filter((each) => !isRight(each) || each.tookMs > lateMs);
  if (troubled.length === 0) return 0;
  const sent = troubled.map(({ sentMs }) => sentMs);
  const ends = troubled.map((each) => each.sentMs + (isRight(each) ? each.tookMs : 0));
  return Math.max(...ends) - Math.min(...sent);
}

function longest(seen: readonly Seen[]): number {
  return seen.reduce((ms, { tookMs }) => Math.max(ms, tookMs), 0);
}
