import { areDefaultTtls, classesBetween, type KnownClass } from './known-classes.js';
import type { ReplyRecord } from './reply.js';

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
  ttlToleranceSeconds: number,
): RecordsDifference {
  const classes = new Set<KnownClass>();
  const otherTtl: (readonly [ReplyRecord, ReplyRecord])[] = [];
  const match = (one: ReplyRecord, other: ReplyRecord) => {
    for (const known of classesBetween(one, other)) classes.add(known);
    if (Math.abs(one.ttlSeconds - other.ttlSeconds) <= ttlToleranceSeconds) return;
    if (areDefaultTtls(one.ttlSeconds, other.ttlSeconds, ttlToleranceSeconds)) {
      classes.add('ttl-default');
    } else if (one.type === 'SOA') classes.add('soa-numbers');
    else otherTtl.push([one, other]);
  };
  // Equal records first: only those without an equal are matched by their `matchKey`.
  const same = pair(distinct(left), distinct(right), ({ owner, type, data }) =>
    [owner, type, data].join(' '),
  );
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
  const byText = new Map(
    records.map((record) => [`${record.owner} ${record.type} ${record.data}`, record]),
  );
  return [...byText.values()];
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
