import { arpa, EDNS, OVER_TCP, q, type Scenario, times, twice } from './oracle-cache-steps.js';

interface Difference extends Scenario {
  /** What differs at the last step, `ttls` among it. */
  readonly fields: readonly string[];
}

/** Deliberate differences, each with its reason. A row that does not differ any more fails. */
export const DIFFERENT: Readonly<Record<string, Difference>> = {
  'a cached name asked with DO: the entry stays; dnsmasq stores the reply in its place': {
    options: [],
    steps: [q('missing'), q('missing', 'A', { ...EDNS, isDnssecOk: true }), 'compare counters'],
    fields: ['counters'],
  },
  'several PTR records: all are cached; dnsmasq caches one': {
    options: [],
    steps: times(2, arpa(2)),
    fields: ['answers'],
  },
  'PTR records of a name that is no address: cached; dnsmasq queries again': {
    options: [],
    steps: times(2, q('1', 'PTR')),
    fields: ['asked'],
  },
  'a CNAME without its target: nothing is inferred; dnsmasq caches NODATA for the target': {
    options: [],
    steps: twice('bare'),
    fields: ['asked'],
  },
  'a SOA whose name only has the same end as text: not the zone’s; dnsmasq uses it': {
    options: [],
    steps: twice('alike'),
    fields: ['asked'],
  },
  'a SOA that forbids caching: not cached; with a floor for TTLs dnsmasq caches it': {
    options: ['--neg-ttl=50', '--min-cache-ttl=50'],
    steps: twice('instant'),
    fields: ['authorities', 'asked'],
  },
  'a TTL with the top bit: 0, for clients and the cache (RFC 2181 section 8); dnsmasq keeps it': {
    options: [],
    steps: [q('high')],
    fields: ['ttls'],
  },
  'a TTL of more than a day: cached for a day; dnsmasq caches it for all its time': {
    options: [],
    steps: twice('long'),
    fields: ['ttls'],
  },
  'a malformed reply: SERVFAIL is remembered for a second (RFC 9520); dnsmasq queries again': {
    options: [],
    steps: twice('badaddress'),
    fields: ['asked'],
  },
  'private addresses in an answer to ANY: emptied, too': {
    options: ['--stop-dns-rebind'],
    steps: [q('private', 'ANY')],
    fields: ['answers'],
  },
  'a question for a CNAME: forwarded; dnsmasq takes it from another answer, with AA': {
    options: [],
    steps: [q('dangling'), q('dangling', 'CNAME')],
    fields: ['flags', 'authorities', 'asked'],
  },
  'a CNAME of a PTR record: cached with it; dnsmasq caches the record alone': {
    options: [],
    steps: times(2, arpa(4)),
    fields: ['answers'],
  },
  'a CNAME and its target from two answers: cached separately; dnsmasq combines them': {
    options: [],
    steps: [q('shared'), q('sharing'), q('shared')],
    fields: ['answers'],
  },
  'a CNAME whose target is cached for another type: forwarded; dnsmasq combines both': {
    options: [],
    steps: [q('end', 'AAAA'), q('chain'), q('chain', 'AAAA')],
    fields: ['asked'],
  },
  'NXDOMAIN without SOA after a CNAME: not cached; dnsmasq caches it for the TTL of the CNAME': {
    options: [],
    steps: twice('lost'),
    fields: ['asked'],
  },
  'NODATA made of NXDOMAIN after a CNAME, for a name with local data: cached': {
    options: ['--txt-record=x.dangling.zone.test,t'],
    steps: twice('dangling'),
    fields: ['flags', 'asked'],
  },
  'a CNAME to a name with local data: cached with upstream’s data; dnsmasq queries again': {
    options: ['--host-record=end.zone.test,10.9.9.9'],
    steps: twice('chain'),
    fields: ['asked'],
  },
  'CNAME with --cache-rr: cached; dnsmasq never caches it': {
    options: ['--cache-rr=CNAME'],
    steps: twice('chain', 'CNAME'),
    fields: ['asked'],
  },
  'a bogus address after a CNAME: the name is NXDOMAIN; in dnsmasq the target is': {
    options: ['--bogus-nxdomain=198.18.0.0/24'],
    steps: twice('ledastray'),
    fields: ['asked'],
  },
  'a private address that the question does not lead to: emptied, too': {
    options: ['--stop-dns-rebind'],
    steps: [q('offpath')],
    fields: ['answers'],
  },
  'an answer over TCP: in its order, as any other; dnsmasq rotates its records': {
    options: [],
    steps: [q('set', 'A', OVER_TCP), q('set')],
    fields: ['answers'],
  },
  'CNAMEs over TCP: all are cached; dnsmasq loses those in the middle': {
    options: [],
    steps: [q('chain', 'A', OVER_TCP), q('chain')],
    fields: ['answers'],
  },
  'a CNAME to addresses of both families: counts once for each; in dnsmasq once for both': {
    options: ['--cache-size=5'],
    steps: [q('chain'), q('chain', 'AAAA'), 'compare counters'],
    fields: ['counters'],
  },
  'a cached answer that is truncated: OPT stays; dnsmasq drops it': {
    options: [],
    steps: [q('many', 'A', { ednsBytes: 4096 }), q('many', 'A', { ednsBytes: 512 })],
    fields: ['answers', 'additionals'],
  },
  'a single server that fails: queried once; dnsmasq queries it again': {
    options: [],
    steps: twice('fails'),
    fields: ['asked'],
  },
  'the SOA of a negative answer: does not count towards the size; dnsmasq’s does': {
    options: ['--cache-size=4'],
    steps: [q('missing'), q('pair'), q('one'), 'compare counters'],
    fields: ['counters'],
  },
};
