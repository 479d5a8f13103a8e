import { type Group, questions } from './oracle-local-zone.js';

/** Rules for domains, and names that must not be forwarded; the answers must be the same. */
export const RULE_CASES: Readonly<Record<string, Group>> = {
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
      ...['--address=/loc.served.v4.x/', '--local=/lo.x/', '--host-record=exists.lo.x,10.4.4.4'],
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
        'exists.lo.x',
        'exists.lo.x AAAA',
      ],
      ...['no.lo.x', 'b.lo.x', 'b.lo.x TXT', 't.gone.x', 't.gone.x TXT', 'one', 'one AAAA', 'two'],
      ...['two AAAA', '.'],
    ),
  },
  'what is exempt from the protection against rebinding, without wildcards': {
    options: ['--stop-dns-rebind', '--rebind-domain-ok=/*foo/*.bar/ok/'],
    questions: questions(
      ...['a.foo', 'foo', 'xfoo', 'a.xfoo', '*foo', 'a.*foo', 'a.bar', 'bar', 'a.*.bar'],
      ...['ok', 'a.ok', 'nok', 'single'],
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
  'the rules of a servers file': {
    options: [
      ...['--servers-file=SERVERS', '--address=/dom.x/1.2.3.4', '--bogus-priv'],
      ...['--host-record=exists.lo.x,10.4.4.4'],
    ],
    questions: questions(
      ...['dom.x', 'out.dom.x', 'a.out.dom.x', 'lo.x', 'exists.lo.x', 'exists.lo.x TXT', 'no.lo.x'],
      ...['3.2.9.10.in-addr.arpa TXT', '3.2.9.10.in-addr.arpa PTR', '3.2.8.10.in-addr.arpa PTR'],
    ),
  },
  'names that must not be forwarded': {
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
};
