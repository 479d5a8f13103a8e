import { arpa, EDNS, OVER_TCP, q, type Scenario, times, twice } from './oracle-cache-steps.js';

/** Caching and its duration; both servers have the same answers, upstream queries and counters. */
export const CACHE_SCENARIOS: Readonly<Record<string, Scenario>> = {
  'records, rotated at each answer': {
    options: [],
    steps: [
      ...times(6, q('set'), q('services', 'SRV')),
      ...twice('six', 'AAAA'),
      ...twice('text', 'TXT'),
      ...twice('mail', 'MX'),
      ...times(2, q('set', 'ANY')),
      ...times(2, arpa(1), arpa(3)),
      'compare counters',
    ],
  },
  'records in upstream’s order': {
    options: ['--no-round-robin'],
    steps: times(4, q('set'), q('services', 'SRV')),
  },
  'CNAMEs and their targets': {
    options: [],
    steps: [
      ...twice('chain'),
      ...['middle', 'end', 'backwards', 'backwards', 'last'].map((label) => q(label)),
      'compare counters',
    ],
  },
  'CNAMEs in a loop': { options: [], steps: twice('circle') },
  'records that were not asked for': {
    options: [],
    steps: [...twice('planted'), q('victim'), q('hint'), 'compare counters'],
  },
  NXDOMAIN: {
    options: [],
    steps: [
      q('missing', 'TXT'),
      ...['A', 'AAAA', 'SRV', 'MX', 'CNAME', 'ANY'].map((type) => q('missing', type)),
      q('missing', 'A', EDNS),
      q('missing', 'A', { isCheckingDisabled: true }),
      ...['short', 'astray', 'instant', 'unsigned'].flatMap((label) => twice(label)),
      'compare counters',
      q('missing', 'A', { ...EDNS, isDnssecOk: true }),
      q('missing', 'A', { isRecursionDesired: false }),
    ],
  },
  'NXDOMAIN of one type, before and after an answer of another': {
    options: [],
    steps: [
      ...times(2, q('four'), q('four', 'AAAA'), q('four', 'TXT')),
      ...times(2, q('four.later', 'AAAA'), q('four.later')),
      'compare counters',
    ],
  },
  'NXDOMAIN of one type, not cached': {
    options: ['--no-negcache'],
    steps: [...times(2, q('four'), q('four', 'AAAA')), 'compare counters'],
  },
  'NXDOMAIN of one type after a CNAME': {
    options: [],
    steps: [...times(2, q('fourth'), q('fourth', 'AAAA')), q('four'), q('four', 'AAAA')],
  },
  NODATA: {
    options: [],
    steps: [
      ...['A', 'AAAA', 'SRV', 'TXT', 'ANY'].flatMap((type) => twice('empty', type)),
      ...twice('referral'),
      'compare counters',
    ],
  },
  'negative answers after CNAMEs': {
    options: [],
    steps: [
      ...twice('dangling'),
      q('dangling', 'TXT'),
      q('dangling', 'ANY'),
      q('gone'),
      q('gone', 'SRV'),
      ...twice('hollow'),
      q('void'),
      q('hollow', 'AAAA'),
      'compare counters',
    ],
  },
  'no cached negative answers': {
    options: ['--no-negcache'],
    steps: [
      ...['missing', 'empty', 'dangling', 'hollow', 'bare'].flatMap((label) => twice(label)),
      ...twice('chain'),
      'compare counters',
    ],
  },
  'negative answers without SOA': {
    options: ['--neg-ttl=50'],
    steps: [
      ...['unsigned', 'astray', 'referral', 'missing', 'bare'].flatMap((label) => twice(label)),
      'compare counters',
    ],
  },
  'more types': {
    options: ['--cache-rr=MX,TXT'],
    steps: [
      ...twice('mail', 'MX'),
      ...twice('text', 'TXT'),
      ...twice('empty', 'MX'),
      ...twice('mail', 'NS'),
    ],
  },
  'every type': {
    options: ['--cache-rr=ANY'],
    steps: [
      ...twice('mail', 'MX'),
      ...twice('empty', 'NS'),
      ...twice('set', 'ANY'),
      'compare counters',
    ],
  },
  'the bounds of TTLs': {
    options: ['--max-ttl=20', '--min-cache-ttl=50', '--max-cache-ttl=500'],
    steps: [
      ...['set', 'zero', 'long', 'missing', 'dangling', 'chain'].flatMap((label) => twice(label)),
      'compare counters',
    ],
  },
  'the size in EDNS': {
    options: ['--edns-packet-max=4096'],
    steps: [
      ...times(2, q('set', 'A', EDNS), q('missing', 'A', EDNS)),
      q('set', 'TXT', { ednsBytes: 600 }),
    ],
  },
  'no statistics names': {
    options: ['--no-ident'],
    steps: ['hits', 'version', 'x'].map((name) => ({
      name: `${name}.bind`,
      type: 'TXT',
      class: 'CH',
    })),
  },
  'a cache that is too small': {
    options: ['--cache-size=30'],
    steps: [
      ...Array.from({ length: 30 }, (_, i) => [q(`pair.n${i}`), q(`one.n${i % 7}`)]).flat(),
      ...times(3, q('chain'), q('pair.n29'), q('pair.n0')),
      'compare counters',
    ],
  },
  'an answer with more records than the cache': {
    options: ['--cache-size=3'],
    steps: [...twice('set'), ...twice('pair'), 'compare counters'],
  },
  'no cache': { options: ['--cache-size=0'], steps: [...twice('set'), ...twice('missing')] },
  SIGHUP: {
    options: [],
    steps: [
      ...twice('set'),
      ...twice('missing'),
      'SIGHUP',
      'compare counters',
      ...twice('set'),
      'compare counters',
    ],
  },
  'CNAMEs for two types': {
    options: [],
    steps: [
      ...times(2, q('chain'), q('chain', 'AAAA')),
      q('middle'),
      q('middle', 'AAAA'),
      'compare counters',
    ],
  },
  'names in any case, and the longest': {
    options: [],
    steps: [
      ...['ChAin.ZONE.test', 'chain.zone.TEST', 'MIDDLE.zone.test'].map((name) => ({ name })),
      ...twice([63, 63, 63, 51].map((length) => 'a'.repeat(length)).join('.')),
      'compare counters',
    ],
  },
  'answers over TCP': {
    options: [],
    steps: [
      ...['one', 'missing'].flatMap((label) => [q(label, 'A', OVER_TCP), q(label)]),
      ...times(2, q('one', 'A', OVER_TCP)),
      'compare counters',
    ],
  },
  'a floor above the ceiling': {
    options: ['--min-cache-ttl=100', '--max-cache-ttl=50'],
    steps: [...twice('set'), ...twice('missing'), 'compare counters'],
  },
  'a ceiling on what is sent': {
    options: ['--max-ttl=5'],
    steps: [
      ...['set', 'missing', 'chain'].flatMap((label) => twice(label)),
      ...twice('text', 'TXT'),
    ],
  },
  'several SOAs, and that of the root': {
    options: [],
    steps: [...twice('twosoas'), ...twice('rootsoa'), 'compare counters'],
  },
  'the same record twice': { options: [], steps: [...twice('doubles'), 'compare counters'] },
  // What else seconds decide is tested with a clock that stands still.
  'an expired answer': {
    options: ['--use-stale-cache=100'],
    steps: [q('zero'), { untilExpired: q('zero', 'A', EDNS) }],
  },
  'addresses of both families in a small cache': {
    options: ['--cache-size=12'],
    steps: [
      ...Array.from({ length: 12 }, (_, i) => [q(`one.n${i}`), q(`one.n${i}`, 'AAAA')]).flat(),
      'compare counters',
    ],
  },
  'the load of a search path': {
    options: [],
    steps: [
      ...times(
        2,
        ...['a', 'b', 'c'].flatMap((n) => [q(`missing.${n}`), q(`missing.${n}`, 'AAAA')]),
      ),
      'compare counters',
    ],
  },
};
