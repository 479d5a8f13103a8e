import { EDNS, OVER_TCP, q, type Scenario, times, twice } from './oracle-cache-steps.js';

/** Changes to replies before clients and the cache get them; both servers do the same. */
export const REPLY_SCENARIOS: Readonly<Record<string, Scenario>> = {
  rebinding: {
    options: ['--stop-dns-rebind', '--rebind-domain-ok=/ok.zone.test/'],
    steps: [
      ...['private', 'half', 'loopback', 'led', 'set'].flatMap((label) => twice(label)),
      ...twice('mapped', 'AAAA'),
      ...twice('local', 'AAAA'),
      q('private', 'A', EDNS),
      ...twice('private.ok'),
      q('private.nok'),
      'compare counters',
    ],
  },
  'rebinding to this machine': {
    options: ['--stop-dns-rebind', '--rebind-localhost-ok'],
    steps: [...twice('loopback'), ...twice('private')],
  },
  'bogus addresses': {
    options: ['--bogus-nxdomain=198.18.0.0/24', '--bogus-nxdomain=2a00::1', '--no-negcache'],
    steps: [
      ...twice('bogus'),
      q('bogus', 'TXT'),
      q('bogus.x', 'A', EDNS),
      ...twice('six', 'AAAA'),
      ...twice('set'),
      'compare counters',
    ],
  },
  'other addresses': {
    options: ['--alias=192.0.1.1,203.0.113.7', '--alias=10.0.0.0,203.0.113.0,255.255.255.0'],
    steps: [...twice('set'), ...twice('chain'), ...twice('private'), q('set', 'ANY')],
  },
  'filtered types': {
    options: ['--filter-A', '--filter-rr=TXT,ANY'],
    steps: [
      ...twice('set'),
      q('set', 'A', EDNS),
      ...twice('chain'),
      ...twice('both', 'AAAA'),
      ...twice('both'),
      q('both', 'A', EDNS),
      ...twice('text', 'TXT'),
      q('mail', 'ANY'),
      'compare counters',
    ],
  },
  'malformed replies': {
    options: [],
    steps: [q('badaddress'), q('badname'), 'compare counters'],
  },
  'bogus addresses beside other rules': {
    options: [
      ...['--bogus-nxdomain=198.18.0.0/24', '--bogus-nxdomain=10.0.0.0/8', '--stop-dns-rebind'],
      '--alias=192.0.1.1,10.0.0.1',
    ],
    steps: [
      ...['private', 'bogus', 'pair'].flatMap((label) => twice(label)),
      ...times(2, q('bogus', 'ANY'), q('bogus', 'TXT')),
      'compare counters',
    ],
  },
  'addresses that are replaced before they are checked': {
    options: ['--alias=198.18.0.7,192.0.1.9', '--bogus-nxdomain=198.18.0.7'],
    steps: [...twice('bogus'), 'compare counters'],
  },
  'private addresses by an option': {
    options: ['--alias=192.0.1.1,10.0.0.1', '--stop-dns-rebind'],
    steps: [...twice('pair'), 'compare counters'],
  },
  'a bogus address with a TTL of 0': {
    options: ['--bogus-nxdomain=192.0.1.1'],
    steps: [...twice('zero'), 'compare counters'],
  },
  'private addresses and --neg-ttl': {
    options: ['--stop-dns-rebind', '--neg-ttl=50', '--filter-A'],
    steps: [...twice('private'), 'compare counters'],
  },
  'filtered types, and negative answers': {
    options: ['--filter-A'],
    steps: [
      ...['hollow', 'dangling', 'empty'].flatMap((label) => twice(label)),
      q('hollow', 'A', EDNS),
      ...twice('empty', 'AAAA'),
      ...times(2, q('both', 'AAAA'), q('both'), q('both', 'ANY'), q('mail', 'MX')),
      'compare counters',
    ],
  },
  'CNAMEs, which are filtered only where they were asked for': {
    options: ['--filter-rr=CNAME'],
    steps: [...twice('chain', 'CNAME'), ...twice('chain'), q('chain', 'AAAA'), 'compare counters'],
  },
  'other filtered types beside cached addresses': {
    options: ['--filter-rr=MX'],
    steps: [
      q('assorted', 'MX'),
      ...twice('assorted'),
      ...twice('assorted', 'MX'),
      'compare counters',
    ],
  },
  'replies with a wrong count, and with a record of another class': {
    options: [],
    steps: [q('overcount'), ...twice('otherclass'), 'compare counters'],
  },
  'errors, which are not cached': {
    options: ['--neg-ttl=50'],
    steps: [...['refused', 'notimp'].flatMap((label) => twice(label)), 'compare counters'],
  },
  'an error whose rcode is in OPT': {
    options: ['--neg-ttl=50'],
    steps: [...times(2, q('extended', 'A', EDNS)), 'compare counters'],
  },
  'an error over TCP': { options: [], steps: [q('refused', 'A', OVER_TCP), 'compare counters'] },
  'what was validated upstream': {
    options: [],
    steps: [...twice('validated'), q('validated', 'A', EDNS)],
  },
  'what was validated upstream, passed on': {
    options: ['--proxy-dnssec'],
    steps: [...twice('validated'), q('validated', 'A', EDNS)],
  },
  'too many questions, with DO': {
    options: ['--dns-forward-max=0'],
    steps: [q('set', 'A', { ...EDNS, isDnssecOk: true }), 'compare counters'],
  },
};
