import type { Side } from '../asking/way.js';
import { classesBetween, type KnownClass, ttlClass } from './known-classes.js';
import { recordKey, type ReplyRecord } from './reply.js';

/** How TTLs are compared. */
export interface TtlRules {
  readonly toleranceSeconds: number;
  /** The records of each side, by `recordKey`, whose TTLs count down. */
  readonly ageing: Readonly<Record<Side, ReadonlySet<string>>>;
}

/** The differences between two sections. */
export interface RecordsDifference {
  readonly onlyLeft: readonly ReplyRecord[];
  readonly onlyRight: readonly ReplyRecord[];
  /** The same record with TTLs that differ by more than the tolerance. */
  readonly otherTtl: readonly (readonly [left: ReplyRecord, right: ReplyRecord])[];
  readonly classes: readonly KnownClass[];
}

/** Compares two sections as sets: order and repetitions do not count. */
export function compareRecords(
  left: readonly ReplyRecord[],
  right: readonly ReplyRecord[],
  { toleranceSeconds, ageing }: TtlRules,
): RecordsDifference {
  const classes = new Set<KnownClass>();
  const otherTtl: (readonly [ReplyRecord, ReplyRecord])[] = [];
  const match = (one: ReplyRecord, other: ReplyRecord) => {
    for (const known of classesBetween(one, other)) classes.add(known);
    if (Math.abs(one.ttlSeconds - other.ttlSeconds) <= toleranceSeconds) return;
    const ttls = [
      { seconds: one.ttlSeconds, isAgeing: ageing.left.has(recordKey(one)) },
      { seconds: other.ttlSeconds, isAgeing: ageing.right.has(recordKey(other)) },
    ] as const;
    const known = ttlClass(...ttls, toleranceSeconds);
    if (known !== undefined) classes.add(known);
    else if (one.type === 'SOA') classes.add('soa-numbers');
    else otherTtl.push([one, other]);
  };
  // Equal records first: only those without an equal are matched by their `matchKey`.
  const same = pair(distinct(left), distinct(right), recordKey);
  const alike = pair(same.onlyLeft, same.onlyRight, ({ matchKey }) => matchKey);
  for (const [one, other] of [...same.pairs, ...alike.pairs]) match(one, other);
  return {
    onlyLeft: alike.onlyLeft,
    onlyRight: alike.onlyRight,
    otherTtl,
    classes: [...classes],
  };
}

function distinct(records: readonly ReplyRecord[]): ReplyRecord[] {
  return [...new Map(records.map((record) => [recordKey(record), record])).values()];
}

interface Pairs {
  readonly pairs: (readonly [ReplyRecord, ReplyRecord])[];
  readonly onlyLeft: ReplyRecord[];
  readonly onlyRight: ReplyRecord[];
}

/** Pairs records with equal keys, one to one. */
function pair(
  left: readonly ReplyRecord[],
  right: readonly ReplyRecord[],
  keyOf: (record: ReplyRecord) => string,
): Pairs {
  const waiting = new Map<string, ReplyRecord[]>();
  for (const record of right) {
    const key = keyOf(record);
    const some = waiting.get(key);
    if (some === undefined) waiting.set(key, [record]);
    else some.push(record);
  }
  const pairs: Pairs = { pairs: [], onlyLeft: [], onlyRight: [] };
  for (const record of left) {
    const other = waiting.get(keyOf(record))?.shift();
    if (other === undefined) pairs.onlyLeft.push(record);
    else pairs.pairs.push([record, other]);
  }
  pairs.onlyRight.push(...[...waiting.values()].flat());
  return pairs;
}
