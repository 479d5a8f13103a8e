import type { Reply, ReplyRecord } from './reply.js';

/** Conventions: differences that no client notices. They are counted, not listed. */
export const KNOWN_CLASSES = {
  'endpoint-label': 'an endpoint without hostname: hash label against dashed address',
  'ttl-default': 'TTL 30 s against 5 s, the defaults of the two',
  'ttl-ageing': 'a smaller TTL that counts down in a cache',
  'srv-weight': 'SRV priority and weight',
  'soa-numbers': 'SOA serial, timers and TTL',
  'ra-flag': 'one side alone sets RA (recursion available)',
  'aa-flag': 'one side alone sets AA (authoritative answer)',
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

/** The known classes of differences between the headers of two replies. */
export function flagClasses(left: Reply, right: Reply): KnownClass[] {
  const classes: KnownClass[] = [];
  if (left.isRecursive !== right.isRecursive) classes.push('ra-flag');
  if (left.isAuthoritative !== right.isAuthoritative) classes.push('aa-flag');
  return classes;
}

/** A TTL, and whether it counts down: then it was larger before. */
export interface SeenTtl {
  readonly seconds: number;
  readonly isAgeing: boolean;
}

/** The known class of two TTLs that differ by more than the tolerance; undefined for none. */
export function ttlClass(
  left: SeenTtl,
  right: SeenTtl,
  toleranceSeconds: number,
): KnownClass | undefined {
  const [short, long] = left.seconds < right.seconds ? [left, right] : [right, left];
  const isDefault = ({ seconds, isAgeing }: SeenTtl, limit: number) =>
    seconds <= limit && (isAgeing || seconds >= limit - toleranceSeconds);
  if (isDefault(long, DEFAULT_TTLS[0]) && isDefault(short, DEFAULT_TTLS[1])) return 'ttl-default';
  return short.isAgeing ? 'ttl-ageing' : undefined;
}

function numbersOf({ data }: ReplyRecord): string {
  return data.split(' ', 2).join(' ');
}
