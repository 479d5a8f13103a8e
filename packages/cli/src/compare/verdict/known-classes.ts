import type { ReplyRecord } from './reply.js';

/** The differences that are known and harmless: counted, not listed. */
export const KNOWN_CLASSES = {
  'endpoint-label': 'an endpoint without hostname: hash label against dashed address',
  'ttl-default': 'TTL 30 s against 5 s, the defaults of the two',
  'srv-weight': 'SRV priority and weight',
  'soa-numbers': 'SOA serial, timers and TTL',
} as const;
export type KnownClass = keyof typeof KNOWN_CLASSES;

/** The first of kube-dns and the addon's Corefile, the second of the plugin of CoreDNS. */
const DEFAULT_TTLS = [30, 5] as const;

/** The known classes of differences between two records with equal `matchKey`. */
export function classesBetween(left: ReplyRecord, right: ReplyRecord): KnownClass[] {
  const classes: KnownClass[] = [];
  if (left.names !== right.names) classes.push('endpoint-label');
  if (left.type === 'SRV' && numbersOf(left) !== numbersOf(right)) classes.push('srv-weight');
  if (left.type === 'SOA' && left.data !== right.data) classes.push('soa-numbers');
  return classes;
}

/** Whether two TTLs are the two defaults, or what remains of them in a cache, within the tolerance. */
export function areDefaultTtls(left: number, right: number, toleranceSeconds: number): boolean {
  const isDefault = (ttl: number, limit: number) => ttl <= limit && ttl >= limit - toleranceSeconds;
  const [long, short] = left > right ? [left, right] : [right, left];
  return isDefault(long, DEFAULT_TTLS[0]) && isDefault(short, DEFAULT_TTLS[1]);
}

function numbersOf({ data }: ReplyRecord): string {
  return data.split(' ', 2).join(' ');
}
