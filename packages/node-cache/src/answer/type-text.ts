/** The types that are counted by name (coredns plugin/metrics/vars/monitor.go). */
export const NAMED_TYPES: readonly (readonly [name: string, type: number])[] = [
  ['A', 1],
  ['NS', 2],
  ['CNAME', 5],
  ['SOA', 6],
  ['PTR', 12],
  ['MX', 15],
  ['TXT', 16],
  ['AAAA', 28],
  ['SRV', 33],
  ['DS', 43],
  ['RRSIG', 46],
  ['NSEC', 47],
  ['DNSKEY', 48],
  ['NSEC3', 50],
  ['HTTPS', 65],
  ['IXFR', 251],
  ['AXFR', 252],
  ['ANY', 255],
];

const NAMES = new Map(NAMED_TYPES.map(([name, type]) => [type, name]));

/** The name of a type, or `TYPE65280` (RFC 3597 section 5). */
export function typeText(type: number): string {
  return NAMES.get(type) ?? `TYPE${type}`;
}
