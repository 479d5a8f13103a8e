import type { ReplyRecord } from './reply.js';

/** The differences that are known and harm nobody: counted, not listed. */
export const KNOWN_CLASSES = {
  'endpoint-label': 'an endpoint without hostname: hash label against dashed address',
  'ttl-default': 'TTL 30 s against 5 s, the defaults of the two',
  'srv-weight': 'SRV priority and weight',
  'soa-numbers': 'SOA serial, timers and TTL',
} as const;
export type KnownClass = keyof typeof KNOWN_CLASSES;

/** kube-dns and the addon's Corefile have the first, the plugin of CoreDNS the second. */
const DEFAULT_TTLS = [30, 5] as const;

/** Which known classes make the difference between two records of one likeness. */
export function classesBetween(left: ReplyRecord, right: ReplyRecord): KnownClass[] {
  const classes: KnownClass[] = [];
  if (left.names !== right.names) classes.push('endpoint-label');
  if (left.type === 'SRV' && numbersOf(left) !== numbersOf(right)) classes.push('srv-weight');
  if (left.type === 'SOA' && left.data !== right.data) classes.push('soa-numbers');
  return classes;
}

/** Whether two TTLs are the two defaults, or what a cache has left of them within the tolerance. */
export function areDefaultTtls(left: number, right: number, toleranceSeconds: number): boolean {
  const isDefault = (ttl: number, limit: number) => ttl <= limit && ttl >= limit - toleranceSeconds;
  const [long, short] = left > right ? [left, right] : [right, left];
  return isDefault(long, DEFAULT_TTLS[0]) && isDefault(short, DEFAULT_TTLS[1]);
}

function numbersOf({ data }: ReplyRecord): string {
  return data.split(' ', 2).join(' ');
}
