import { type Group, questions } from './oracle-local-zone.js';

const HOST_QUESTIONS = questions(
  ...['alpha', 'alpha AAAA', 'alpha TXT', 'alpha ANY', 'ALPHA.example', 'beta', 'six', 'six AAAA'],
  ...['tabbed', 'nospace', 'deep.er.in.hosts.example', 'in.hosts.example', 'x', 'mapped AAAA'],
  ...['trailing.dot', '1.0.0.10.in-addr.arpa PTR', '2.0.0.10.in-addr.arpa PTR', 'gamma'],
  ...['9.0.0.10.in-addr.arpa PTR', `1.${'0.'.repeat(29)}d.f.ip6.arpa PTR`, 'more', 'again'],
  ...['1.1.0.10.in-addr.arpa PTR', '0.0.10.in-addr.arpa PTR', '1.0.0.10.in-addr.arpa ANY'],
);

/** Hosts files and static records; the answers must be the same. HOSTS is the hosts file. */
export const RECORD_CASES: Readonly<Record<string, Group>> = {
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
  CNAMEs: {
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
  'the names of class CHAOS, which --no-ident disables': {
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
