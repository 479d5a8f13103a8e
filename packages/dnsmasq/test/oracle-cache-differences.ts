import { arpa, EDNS, OVER_TCP, q, type Scenario, times, twice } from './oracle-cache-steps.js';

interface Difference extends Scenario {
  /** What differs at the last step. */
  readonly fields: readonly string[];
}

/** Deliberate differences, each with its reason. A row that does not differ any more fails. */
export const DIFFERENT: Readonly<Record<string, Difference>> = {
  'several PTR records: all are kept; dnsmasq keeps one': {
    options: [],
    steps: times(2, arpa(2)),
    fields: ['answers'],
  },
  'PTR records of a name that is no address: kept; dnsmasq asks again': {
    options: [],
    steps: times(2, q('1', 'PTR')),
    fields: ['asked'],
  },
  'an alias without its target: nothing is made of it; dnsmasq takes the target for empty': {
    options: [],
    steps: twice('bare'),
    fields: ['asked'],
  },
  'a SOA whose name only ends alike: not the zone’s; dnsmasq takes it': {
    options: [],
    steps: twice('alike'),
    fields: ['asked'],
  },
  'a SOA that forbids caching: obeyed; a floor for TTLs makes dnsmasq keep it': {
    options: ['--neg-ttl=50', '--min-cache-ttl=50'],
    steps: twice('instant'),
    fields: ['authorities', 'asked'],
  },
  'a TTL with the top bit: 0, so not kept (RFC 2181 section 8); dnsmasq keeps it for 68 years': {
    options: [],
    steps: twice('high'),
    fields: ['asked'],
  },
  'private addresses in an answer to ANY: emptied, too': {
    options: ['--stop-dns-rebind'],
    steps: [q('private', 'ANY')],
    fields: ['answers'],
  },
  'a type that is left out of a kept answer: said so, not of addresses only': {
    options: ['--filter-rr=SRV'],
    steps: times(2, q('services', 'SRV', EDNS)),
    fields: ['additionals'],
  },
  'an alias asked for by itself: asked upstream; dnsmasq takes it out of another answer, with AA': {
    options: [],
    steps: [q('dangling'), q('dangling', 'CNAME')],
    fields: ['flags', 'authorities', 'asked'],
  },
  'an alias of a PTR record: kept with it; dnsmasq keeps the record alone': {
    options: [],
    steps: times(2, arpa(4)),
    fields: ['answers'],
  },
  'an alias and its target out of two answers: each is kept as it came; dnsmasq puts them together':
    {
      options: [],
      steps: [q('shared'), q('sharing'), q('shared')],
      fields: ['answers'],
    },
  'an alias whose target is known of another type: asked upstream; dnsmasq puts both together': {
    options: [],
    steps: [q('end', 'AAAA'), q('chain'), q('chain', 'AAAA')],
    fields: ['asked'],
  },
  'a denial without SOA behind an alias: not kept; dnsmasq keeps it for the TTL of the alias': {
    options: [],
    steps: twice('lost'),
    fields: ['asked'],
  },
  'NXDOMAIN of a name with kept records: believed; dnsmasq makes an empty answer of it': {
    options: [],
    steps: [q('four'), q('four', 'AAAA')],
    fields: ['flags'],
  },
  'an empty answer made of NXDOMAIN behind an alias, for a name with local data: kept': {
    options: ['--txt-record=x.dangling.zone.test,t'],
    steps: twice('dangling'),
    fields: ['flags', 'asked'],
  },
  'an alias to a name with local data: kept with upstream’s; dnsmasq asks again': {
    options: ['--host-record=end.zone.test,10.9.9.9'],
    steps: twice('chain'),
    fields: ['asked'],
  },
  'CNAME with --cache-rr: kept; dnsmasq never keeps it': {
    options: ['--cache-rr=CNAME'],
    steps: twice('chain', 'CNAME'),
    fields: ['asked'],
  },
  'a bogus address behind an alias: the name is denied; dnsmasq denies the target': {
    options: ['--bogus-nxdomain=198.18.0.0/24'],
    steps: twice('ledastray'),
    fields: ['asked'],
  },
  'a private address that the question does not lead to: emptied, too': {
    options: ['--stop-dns-rebind'],
    steps: [q('offpath')],
    fields: ['answers'],
  },
  'an answer over TCP: in its order, as any other; dnsmasq turns it round': {
    options: [],
    steps: [q('set', 'A', OVER_TCP), q('set')],
    fields: ['answers'],
  },
  'aliases over TCP: all are kept; dnsmasq loses those in the middle': {
    options: [],
    steps: [q('chain', 'A', OVER_TCP), q('chain')],
    fields: ['answers'],
  },
  'an alias to addresses of both families: one place of the size for each; dnsmasq’s is one': {
    options: ['--cache-size=5'],
    steps: [q('chain'), q('chain', 'AAAA'), 'compare counters'],
    fields: ['counters'],
  },
  'a kept answer that is cut: OPT stays; dnsmasq drops it': {
    options: [],
    steps: [q('many', 'A', { ednsBytes: 4096 }), q('many', 'A', { ednsBytes: 512 })],
    fields: ['answers', 'additionals'],
  },
  'a lone server that fails: asked once; dnsmasq asks it again': {
    options: [],
    steps: twice('fails'),
    fields: ['asked'],
  },
  'the SOA of a denial: takes no place of the size; dnsmasq’s does': {
    options: ['--cache-size=4'],
    steps: [q('missing'), q('pair'), q('one'), 'compare counters'],
    fields: ['counters'],
  },
};
