/** For how long an answer may be cached: the README of kubedns (`--record-ttl`, `--negative-ttl`), RFC 2181 section 5.2. */

/** A record of any section of a message. */
export interface TimedRecord {
  readonly name: string;
  readonly type: string;
  readonly ttl: number;
  /** Of a PTR record: its name. */
  readonly target?: string;
}

/** Of records of the zone. */
export const RECORD_SECONDS = 30;
const DENIAL_SECONDS = 5;
/** What the name servers outside give; a cache gives no more. */
export const OUTSIDE_SECONDS = 60;

/**
 * What is wrong with the TTLs of a message. Records of the zone have theirs in full from kubedns itself, and no more from a cache;
 * those of a set have the same.
 */
export function wrongTtl(
  records: readonly TimedRecord[],
  zone: string,
  isCached: boolean,
): string | undefined {
  const ofSets = new Map<string, number>();
  for (const record of records) {
    const { type, ttl } = record;
    const name = record.name.toLowerCase();
    const limit = limitOf(record, zone);
    const text = `${type} ${name} has a TTL of ${ttl} s`;
    if (ttl > limit) return `${text}; right are ${limit} s at most`;
    if (!isCached && limit !== OUTSIDE_SECONDS && ttl < limit) return `${text}; right are ${limit} s`; // prettier-ignore
    const ofSet = ofSets.get(`${type} ${name}`) ?? ttl;
    if (ttl !== ofSet) return `${text}, and another one of its set ${ofSet} s`;
    ofSets.set(`${type} ${name}`, ttl);
  }
  return undefined;
}

function limitOf({ name, type, target }: TimedRecord, zone: string): number {
  const isInZone = (each: string) => each.toLowerCase() === zone || each.toLowerCase().endsWith(`.${zone}`); // prettier-ignore
  if (!isInZone(name) && (target === undefined || !isInZone(target))) return OUTSIDE_SECONDS;
  return type === 'SOA' ? DENIAL_SECONDS : RECORD_SECONDS;
}
