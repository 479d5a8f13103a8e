import { type Query, TYPE } from '@kube-dns/wire';
import type { viewOf } from './answer-view.js';
import { addressRecords, type Question, type Response } from './messages.js';

/** Answers of the upstream are told from local ones by their data. */
export function respond({ type }: Query): Response {
  if (type === TYPE.A) return { answers: addressRecords(60, '10.99.99.99') };
  if (type === TYPE.AAAA) return { answers: [{ type: 'AAAA', ttl: 60, data: 'fd99::1' }] };
  if (type === TYPE.TXT) return { answers: [{ type: 'TXT', ttl: 60, data: 'upstream' }] };
  return {};
}

/** `name TYPE` for each question; the type is A where there is none. */
export function questions(...texts: string[]): Question[] {
  return texts.map((text) => {
    const [name = '', type = 'A'] = text.split(' ');
    return { name, type };
  });
}

/** What HOSTS stands for in the options. */
export const HOSTS = `# hosts
10.0.0.1 alpha Alpha.Example  # the first
10.0.0.2\talpha
10.0.0.1 beta
fd00::1 six alpha
not an address
1.2.3 x

10.0.0.6 tabbed#nospace
10.0.0.7 deep.er.in.hosts.example
::ffff:10.0.0.8 mapped
10.0.0.9 trailing.dot.
`;
/** A file in the directory that FOLDER stands for. */
export const MORE_HOSTS = '10.0.1.1 more\n10.0.0.1 again';

const HOST_QUESTIONS = questions(
  ...['alpha', 'alpha AAAA', 'alpha TXT', 'alpha ANY', 'ALPHA.example', 'beta', 'six', 'six AAAA'],
  ...['tabbed', 'nospace', 'deep.er.in.hosts.example', 'in.hosts.example', 'x', 'mapped AAAA'],
  ...['trailing.dot', '1.0.0.10.in-addr.arpa PTR', '2.0.0.10.in-addr.arpa PTR', 'gamma'],
  ...['9.0.0.10.in-addr.arpa PTR', `1.${'0.'.repeat(29)}d.f.ip6.arpa PTR`, 'more', 'again'],
  ...['1.1.0.10.in-addr.arpa PTR', '0.0.10.in-addr.arpa PTR', '1.0.0.10.in-addr.arpa ANY'],
);

/** What is asked of both, and with which options. */
export interface Group {
  readonly options: readonly string[];
  readonly questions: readonly Question[];
}

/** Asked of both with the same options; the answers must be the same. HOSTS is the hosts file. */
export const SAME: Readonly<Record<string, Group>> = {
  'hosts files': {
    options: ['--addn-hosts=HOSTS', '--addn-hosts=FOLDER'],
    questions: HOST_QUESTIONS,
  },
  'hosts files with a domain and a TTL': {
    options: ['--addn-hosts=HOSTS', '--expand-hosts', '--domain=dom.example', '--local-ttl=30'],
    questions: [
      ...HOST_QUESTIONS,
      ...questions('alpha.dom.example', 'six.dom.example AAAA', 'er.in.hosts.example.dom.example'),
    ],
  },
  'what is exempt from the protection against rebinding, without wildcards': {
    options: ['--stop-dns-rebind', '--rebind-domain-ok=/*foo/*.bar/ok/'],
    questions: questions(
      ...['a.foo', 'foo', 'xfoo', 'a.xfoo', '*foo', 'a.*foo', 'a.bar', 'bar', 'a.*.bar'],
      ...['ok', 'a.ok', 'nok', 'single'],
    ),
  },
  'host records': {
    options: [
      ...['--host-record=rec,Rec.Example,10.1.1.1,fd00::9,77', '--host-record=other,10.1.1.1'],
      ...['--host-record=both,10.1.1.2', '--host-record=both,10.1.1.3', '--addn-hosts=HOSTS'],
      ...['--host-record=alpha,10.7.7.7', '--host-record=twice,10.2.2.2,10.2.2.3'],
    ],
    questions: questions(
      ...[
        'rec',
        'rec AAAA',
        'rec ANY',
        'rec TXT',
        'rec.example',
        'other',
        'both',
        'alpha',
        'twice',
      ],
      ...['1.1.1.10.in-addr.arpa PTR', '7.7.7.10.in-addr.arpa PTR', '2.1.1.10.in-addr.arpa PTR'],
      ...[`9.${'0.'.repeat(29)}d.f.ip6.arpa PTR`, 'x.rec', '3.2.2.10.in-addr.arpa PTR'],
    ),
  },
  aliases: {
    options: [
      ...[
        '--addn-hosts=HOSTS',
        '--cname=al,alpha',
        '--cname=chain,chain2,al,9',
        '--cname=self,tt.x',
      ],
      ...['--cname=dangling,nowhere.example', '--cname=Mixed.Case,alpha', '--txt-record=tt.x,a,b'],
      ...['--cname=to-mx,mm', '--mx-host=mm,alpha,5', '--cname=beta,six', '--cname=*.star,alpha'],
      ...['--cname=to-address,lit.dom', '--address=/dom/1.2.3.4', '--local-ttl=5'],
    ],
    questions: questions(
      ...[
        'al',
        'al AAAA',
        'al TXT',
        'al CNAME',
        'al ANY',
        'al MX',
        'chain',
        'chain CNAME',
        'chain2 AAAA',
      ],
      ...[
        'chain ANY',
        'self TXT',
        'self',
        'self CNAME',
        'dangling',
        'dangling MX',
        'dangling CNAME',
      ],
      ...[
        'mixed.case',
        'MIXED.case CNAME',
        'to-mx MX',
        'beta',
        'beta AAAA',
        'beta CNAME',
        'x.star',
      ],
      ...['to-address', 'to-address AAAA'],
    ),
  },
  'records of other types': {
    options: [
      ...['--addn-hosts=HOSTS', '--txt-record=txt.x,a,"b c"', '--txt-record=txt.x,second'],
      ...[
        `--txt-record=long.x,${'x'.repeat(300)}`,
        '--txt-record=empty.x',
        '--txt-record=deep.er.txt.x,y',
      ],
      ...[
        '--mx-host=mx.x,alpha,5',
        '--mx-host=mx.x,mail.example',
        '--mx-host=own.x,,7',
        '--mx-target=six',
      ],
      ...[
        '--srv-host=_s._tcp.x,alpha,80,1,2',
        '--srv-host=_s._tcp.x,beta,81',
        '--srv-host=_n._tcp.x',
      ],
      ...['--srv-host=_s._tcp.x,elsewhere.example,82,3', '--ptr-record=9.9.9.9.in-addr.arpa,pp.x'],
      ...['--ptr-record=1.0.0.10.in-addr.arpa,own.x', '--ptr-record=1.0.0.10.in-addr.arpa,two.x'],
      ...['--ptr-record=_http._tcp.x,Some\\032Thing._http._tcp.x', '--dns-rr=rr.x,99,01:78'],
      ...[
        '--naptr-record=na.x,1,2,u,E2U+sip,!^.*$!sip:a@b!',
        '--naptr-record=na.x,3,4,s,x,y,alpha',
      ],
      ...[
        '--caa-record=caa.x,0,issue,letsencrypt.org',
        '--dns-rr=empty-rr.x,51',
        '--dns-rr=alpha,16,0161',
      ],
      ...['--domain=dom.example', '--srv-host=_short._udp,alpha,9'],
    ],
    questions: questions(
      ...['txt.x TXT', 'txt.x', 'txt.x ANY', 'long.x TXT', 'deep.er.txt.x TXT', 'er.txt.x TXT'],
      ...['mx.x MX', 'mx.x ANY', 'own.x MX', '_s._tcp.x SRV', '_s._tcp.x ANY', '_n._tcp.x SRV'],
      ...['9.9.9.9.in-addr.arpa PTR', '1.0.0.10.in-addr.arpa PTR', '9.9.9.9.in-addr.arpa ANY'],
      ...[
        'na.x NAPTR',
        'caa.x CAA',
        'caa.x ANY',
        'alpha TXT',
        'alpha ANY',
        '_short._udp.dom.example SRV',
      ],
      ...['_short._udp SRV', 'txt.x MX', 'rr.x SPF'],
    ),
  },
  'addresses of domains': {
    options: [
      ...['--address=/v4.x/1.2.3.4', '--address=/v6.x/fd00::4', '--address=/both.x/1.1.1.1'],
      ...['--address=/both.x/1.1.1.2', '--address=/both.x/fd00::5', '--address=/zero.x/#'],
      ...['--address=/gone.x/', '--address=/v4.x/a.v4.x/1.2.3.5', '--address=/sub.zero.x/1.1.1.1'],
      ...['--address=/deep.sub.zero.x/#', '--server=/out.sub.zero.x/#', '--address=/fam.x/9.9.9.9'],
      ...['--local=/fam.x/', '--address=/zz.gone.x/2.2.2.2', '--address=/*wild.x/3.3.3.3'],
      ...[
        '--address=/*.below.x/4.4.4.4',
        '--server=/served.v4.x/UPSTREAM',
        '--server=/v6.x/UPSTREAM',
      ],
      ...['--address=/loc.served.v4.x/', '--local=/lo.x/', '--host-record=known.lo.x,10.4.4.4'],
      ...['--host-record=a.b.lo.x,10.4.4.5', '--txt-record=t.gone.x,here', '--local-ttl=12'],
      ...['--address=/one/6.6.6.6', '--address=//7.7.7.7', '--address=//fd00::77'],
    ],
    questions: questions(
      ...['v4.x', 'a.b.v4.x', 'v4.x AAAA', 'v4.x ANY', 'v4.x TXT', 'xv4.x', 'v6.x AAAA', 'v6.x'],
      ...['both.x', 'a.both.x AAAA', 'zero.x', 'zero.x AAAA', 'zero.x ANY', 'zero.x TXT', 'gone.x'],
      ...['gone.x AAAA', 'a.gone.x TXT', 'a.gone.x ANY', 'a.v4.x', 'y.a.v4.x', 'a.sub.zero.x'],
      ...['a.sub.zero.x AAAA', 'a.deep.sub.zero.x', 'a.deep.sub.zero.x AAAA', 'a.out.sub.zero.x'],
      ...['a.fam.x', 'a.fam.x AAAA', 'a.fam.x TXT', 'zz.gone.x', 'zz.gone.x AAAA', 'zz.gone.x TXT'],
      ...['wild.x', 'a.wild.x', 'notwild.x', 'x', 'wildx.x', 'below.x', 'a.below.x', 'a.b.below.x'],
      ...[
        'served.v4.x',
        'a.served.v4.x',
        'loc.served.v4.x',
        'lo.x',
        'known.lo.x',
        'known.lo.x AAAA',
      ],
      ...['no.lo.x', 'b.lo.x', 'b.lo.x TXT', 't.gone.x', 't.gone.x TXT', 'one', 'one AAAA', 'two'],
      ...['two AAAA', '.'],
    ),
  },
  'an address for every name': {
    options: ['--address=/#/1.2.3.4', '--server=/served.x/UPSTREAM', '--address=/gone.x/'],
    questions: questions(
      'x',
      'a.b.c',
      'a.b.c AAAA',
      'served.x',
      'gone.x',
      '.',
      '4.3.2.1.in-addr.arpa PTR',
    ),
  },
  'names that must not leave': {
    options: [
      ...['--bogus-priv', '--filterwin2k', '--domain-needed', '--addn-hosts=HOSTS'],
      ...[
        '--server=/9.10.in-addr.arpa/UPSTREAM',
        '--txt-record=text,t',
        '--local=/8.10.in-addr.arpa/',
      ],
      ...['--txt-record=a.ancestor,t', '--srv-host=_known._tcp.x,alpha,80'],
    ],
    questions: [
      ...questions(
        ...[
          '3.2.1.10.in-addr.arpa PTR',
          '3.2.9.10.in-addr.arpa PTR',
          '1.0.64.100.in-addr.arpa PTR',
        ],
        ...['10.in-addr.arpa PTR', '1.10.in-addr.arpa ANY', '3.2.8.10.in-addr.arpa PTR'],
        ...['1.0.0.10.in-addr.arpa PTR', '3.2.1.10.in-addr.arpa', '1.0.0.127.in-addr.arpa PTR'],
        ...[
          '1.0.254.169.in-addr.arpa PTR',
          '1.0.31.172.in-addr.arpa PTR',
          '1.0.32.172.in-addr.arpa PTR',
        ],
        ...[
          '172.in-addr.arpa PTR',
          '1.2.0.192.in-addr.arpa PTR',
          '255.255.255.255.in-addr.arpa PTR',
        ],
        ...[
          '8.8.8.8.in-addr.arpa PTR',
          'd.f.ip6.arpa PTR',
          'c.f.ip6.arpa PTR',
          '8.e.f.ip6.arpa PTR',
        ],
        ...[
          `1.${'0.'.repeat(31)}ip6.arpa PTR`,
          '8.b.d.0.1.0.0.2.ip6.arpa PTR',
          'c.e.f.ip6.arpa PTR',
        ],
        ...['4.e.f.ip6.arpa PTR', '0.0.0.0.0.0.2.ip6.arpa PTR', '1.0.a.10.in-addr.arpa PTR'],
        ...[
          'x.y SOA',
          'x.y SRV',
          '_x.y ANY',
          'x_y.z ANY',
          '_known._tcp.x SRV',
          '_known._tcp.x',
          'y SOA',
        ],
        ...[
          'plain',
          'plain AAAA',
          'plain ANY',
          'plain TXT',
          'plain MX',
          'text',
          'text AAAA',
          'ancestor',
        ],
        ...['alpha', 'beta AAAA', 'beta TXT', '.', 'two.labels'],
      ),
      { name: 'plain', ednsBytes: 1232 },
      { name: '3.2.1.10.in-addr.arpa', type: 'PTR', ednsBytes: 1232 },
      { name: 'x.y', type: 'SOA', ednsBytes: 1232 },
    ],
  },
  'filtered types of local names': {
    options: [
      ...[
        '--filter-A',
        '--filter-AAAA',
        '--filter-rr=TXT',
        '--addn-hosts=HOSTS',
        '--txt-record=text.x,t',
      ],
      ...[
        '--host-record=four.x,10.1.1.1',
        '--host-record=v6.x,fd00::7',
        '--address=/lit.x/1.2.3.4',
      ],
    ],
    questions: [
      ...questions(
        ...['alpha', 'alpha AAAA', 'alpha ANY', 'four.x', 'four.x AAAA', 'v6.x', 'v6.x AAAA'],
        ...['text.x TXT', 'lit.x', 'four.x TXT'],
      ),
      { name: 'four.x', type: 'AAAA', ednsBytes: 1232 },
      { name: 'alpha', ednsBytes: 1232 },
    ],
  },
  'TTLs above the ceiling for what comes from upstream': {
    options: [
      '--max-ttl=5',
      '--local-ttl=60',
      '--addn-hosts=HOSTS',
      '--address=/lit.x/1.2.3.4',
      '--cname=al,alpha,90',
    ],
    questions: questions('alpha', 'lit.x', 'al', 'upstream.x', 'upstream.x'),
  },
  'the names of class CHAOS, which --no-ident takes away': {
    options: ['--no-ident'],
    questions: ['version.bind', 'hits.bind'].map((name) => ({ name, type: 'TXT', class: 'CH' })),
  },
  'any client': {
    options: ['--addn-hosts=HOSTS', '--address=/lit.x/1.2.3.4', '--no-round-robin'],
    questions: ['alpha', 'lit.x'].flatMap((name) => [
      { name, isRecursionDesired: false },
      { name, isCheckingDisabled: true },
      { name, ednsBytes: 4096 },
      { name, ednsBytes: 512, isDnssecOk: true },
      { name: name.toUpperCase() },
    ]),
  },
};

export interface Difference extends Group {
  /** What differs in the answer to the last question; the answers to those before are the same. */
  readonly fields: readonly (keyof ReturnType<typeof viewOf>)[];
}

/** Deliberate differences, each with its reason. A row that does not differ any more fails. */
export const DIFFERENT: Readonly<Record<string, Difference>> = {
  'ANY of a domain with addresses of both families: both; dnsmasq gives those of IPv6 only': {
    options: ['--address=/both.x/1.1.1.1', '--address=/both.x/fd00::5'],
    questions: questions('both.x', 'both.x AAAA', 'both.x ANY'),
    fields: ['answers'],
  },
  'names of one label with an address of the other family: forwarded; dnsmasq refuses': {
    options: ['--address=//7.7.7.7'],
    questions: questions('two', 'two AAAA'),
    fields: ['rcode', 'answers'],
  },
  'a domain and a wildcard of the same text: both count; dnsmasq may pass over one of them': {
    options: ['--address=/ab.x/1.5.4.1', '--address=/*ab.x/#'],
    questions: questions('c.ab.x', 'cab.x AAAA', 'c.ab.x AAAA'),
    fields: ['aa', 'answers'],
  },
  'the same domain with zeros twice: one record; dnsmasq gives two': {
    options: ['--address=/zero.x/#', '--address=/zero.x/#'],
    questions: questions('zero.x'),
    fields: ['answers'],
  },
  'a target of an alias that is cached: the alias alone, at all times; dnsmasq adds it while it is':
    {
      options: ['--cname=al,cached.x'],
      questions: questions('al', 'cached.x', 'al'),
      fields: ['aa', 'answers'],
    },
  'capitals of a name: kept; Debian’s dnsmasq lower-cases them for its IDN library’s sake': {
    options: ['--ptr-record=9.9.9.9.in-addr.arpa,Own.X'],
    questions: questions('9.9.9.9.in-addr.arpa PTR'),
    fields: ['answers'],
  },
  'an empty label in a hosts file: the name is bad; dnsmasq sends a message nobody can read': {
    options: ['--addn-hosts=BAD'],
    questions: questions('good.x', '1.0.0.10.in-addr.arpa PTR'),
    fields: ['answers'],
  },
};
