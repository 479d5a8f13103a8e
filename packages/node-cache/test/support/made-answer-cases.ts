import { ask, type Message, type NameServerRequest, type Response } from '@kube-dns/testkit';
import { RecordCursor, recordText, TYPE } from '@kube-dns/wire';

const forwarded = (zone: string, ...lines: string[]) =>
  `${zone}:PORT {\n${lines.map((line) => `    ${line}\n`).join('')}    forward . UPSTREAM\n}\n`;

/** Server blocks with `template` and `rewrite` as real clusters have them, each in a zone of its own. */
export const MADE_ANSWERS = [
  // No AAAA.
  forwarded('v4.test', 'template IN AAAA . {', 'rcode NOERROR', '}'),
  // A zone that does not exist, with a SOA and a reason.
  forwarded(
    'blocked.test',
    'template ANY ANY {',
    'rcode NXDOMAIN',
    'authority "{{ .Zone }} 60 {{ .Class }} SOA ns.{{ .Zone }} hostmaster.{{ .Zone }} (1 60 60 60 60)"',
    'ederror 15 "blocked here"',
    '}',
  ),
  forwarded('outer.test', 'template ANY ANY inner.outer.test {', 'rcode NXDOMAIN', '}'),
  forwarded(
    'ip.test',
    'template IN A {',
    'match (^|[.])ip-(?P<a>[0-9]*)-(?P<b>[0-9]*)-(?P<c>[0-9]*)-(?P<d>[0-9]*)[.]ip[.]test[.]$',
    'answer "{{ .Name }} 60 IN A {{ .Group.a }}.{{ .Group.b }}.{{ .Group.c }}.{{ .Group.d }}"',
    'fallthrough',
    '}',
    'template IN MX {',
    'match ^(.*)\\.mail\\.ip\\.test\\.$',
    'answer "{{ .Name }} IN MX 10 {{ index .Match 1 }}.ip.test." "{{ .Name }} 1m IN MX 20 {{ .Name }}"',
    'additional "{{ index .Match 1 }}.ip.test 60 IN A 10.0.0.9"',
    '}',
    'template IN TXT {',
    'match ^hex-([0-9a-f]{2})\\. ^(?P<word>[a-z]+)\\.txt\\.',
    'answer "{{ .Name }} 60 {{ .Class }} {{ .Type }} \\"{{ .Type }} of {{ .Zone }}\\" {{ parseInt (index .Group \\"1\\") 16 8 }}"',
    'fallthrough hex-zz.ip.test',
    '}',
  ),
  // A wildcard that is an alias of another name, which is asked for.
  forwarded(
    'apps.test',
    'template IN A {',
    'match .*\\.apps\\.test\\.$',
    'answer "{{ .Name }} 60 IN CNAME gateway.infra.test."',
    '}',
  ),
  forwarded('infra.test'),
  // With a cache in front of it: TTLs within its bounds.
  forwarded(
    'kept.test',
    'cache 30',
    'template IN A {',
    'answer "{{ .Name }} 3600 IN A 10.0.0.8"',
    '}',
    'template IN AAAA {',
    'rcode NXDOMAIN',
    'authority "kept.test 1 IN SOA ns.kept.test. root.kept.test. 1 2 3 4 1"',
    '}',
  ),
  forwarded('exact.test', 'rewrite name exact a.exact.test b.infra.test'),
  forwarded('short.test', 'rewrite name a.short.test b.infra.test'),
  forwarded('prefix.test', 'rewrite name prefix old. new. answer auto'),
  forwarded('suffix.test', 'rewrite name suffix .suffix.test .infra.test answer auto'),
  forwarded('plain.test', 'rewrite stop name suffix .plain.test .infra.test'),
  forwarded('sub.test', 'rewrite name substring .blue.sub.test .green.infra.test answer auto'),
  forwarded(
    'regex.test',
    'rewrite stop {',
    'name regex (.*)-(us-west-1)\\.regex\\.test {1}.service.{2}.infra.test',
    'answer name (.*)\\.service\\.(us-west-1)\\.infra\\.test {1}-{2}.regex.test',
    'answer value (.*)\\.infra\\.test {1}.value.test',
    '}',
  ),
  forwarded(
    'chain.test',
    'rewrite continue name suffix .chain.test .middle.test answer auto',
    'rewrite continue ttl suffix .middle.test 7',
    'rewrite stop name suffix .middle.test .infra.test answer auto',
    'rewrite name suffix .infra.test .never.test',
  ),
  forwarded('type.test', 'rewrite type ANY TXT', 'rewrite type AAAA A'),
  forwarded(
    'ttl.test',
    'rewrite ttl exact a.ttl.test 5',
    'rewrite ttl prefix low 100-200',
    'rewrite ttl regex ^high[0-9]+\\.ttl -10',
    'rewrite ttl substring mid 30-',
  ),
  forwarded(
    'rcode.test',
    'rewrite continue rcode regex ^failing(.*)\\.rcode\\.test SERVFAIL NOERROR',
    'rewrite rcode suffix .rcode.test NXDOMAIN 5',
  ),
  forwarded(
    'cname.test',
    'rewrite cname exact real.cname.test gateway.infra.test',
    'rewrite cname suffix .never.test .infra.test',
  ),
  forwarded('bad.test', 'rewrite name regex ^(.*)\\.bad\\.test\\.$ {1}..infra.test'),
  // Made for a rewritten question.
  forwarded(
    'both.test',
    'rewrite name suffix .old.both.test .new.both.test answer auto',
    'template IN A new.both.test {',
    'answer "{{ .Name }} 60 IN A 10.0.0.7"',
    '}',
  ),
].join('');

const soa = (zone: string) => ({
  name: zone,
  type: 'SOA' as const,
  ttl: 60,
  data: {
    mname: `ns.${zone}`,
    rname: `root.${zone}`,
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    minimum: 60,
  },
});

/** The servers' answers: an address, or what the first label of the name and the type ask for. */
export function madeAnswerServer({ name, type }: NameServerRequest): Response {
  const [first = ''] = name.split('.');
  const rest = name.slice(first.length + 1);
  if (first.startsWith('failing')) return { rcode: 'SERVFAIL' };
  if (first === 'missing') return { rcode: 'NXDOMAIN', authorities: [soa(rest)] };
  if (first === 'alias') {
    const target = `real.${rest}`;
    return {
      answers: [
        { type: 'CNAME', ttl: 60, data: target },
        { name: target, type: 'A', ttl: 60, data: '10.0.0.2' },
      ],
    };
  }
  if (type === 'SRV') {
    const target = `port.${rest}`;
    return {
      answers: [
        { type: 'SRV', ttl: 60, data: { priority: 1, weight: 2, port: 80, target } },
        { type: 'SRV', ttl: 60, data: { priority: 1, weight: 2, port: 81, target: name } },
      ],
      additionals: [{ name: target, type: 'A', ttl: 60, data: '10.0.0.3' }],
    };
  }
  if (type === 'TXT') return { answers: [{ type: 'TXT', ttl: 60, data: `text of ${name}` }] };
  if (type === 'A') return { answers: [{ type: 'A', ttl: 60, data: '10.0.0.1' }] };
  return { authorities: [soa(rest)] };
}

/** Questions, and what a client gets: the rcode, then the records of each section after bars. */
export const MADE_ANSWER_CASES: readonly (readonly [name: string, type: string, seen: string])[] = [
  ['a.v4.test', 'AAAA', 'NOERROR'],
  ['a.v4.test', 'A', 'NOERROR | a.v4.test. 60 A 10.0.0.1'],
  [
    'a.blocked.test',
    'A',
    'NXDOMAIN |  | blocked.test. 60 SOA ns.blocked.test. hostmaster.blocked.test. 1 60 60 60 60',
  ],
  [
    'blocked.test',
    'MX',
    'NXDOMAIN |  | blocked.test. 60 SOA ns.blocked.test. hostmaster.blocked.test. 1 60 60 60 60',
  ],
  ['a.outer.test', 'A', 'NOERROR | a.outer.test. 60 A 10.0.0.1'],
  ['a.inner.outer.test', 'SRV', 'NXDOMAIN'],
  ['ip-10-1-2-3.ip.test', 'A', 'NOERROR | ip-10-1-2-3.ip.test. 60 A 10.1.2.3'],
  ['other.ip.test', 'A', 'NOERROR | other.ip.test. 60 A 10.0.0.1'],
  [
    'a.mail.ip.test',
    'MX',
    'NOERROR | a.mail.ip.test. 3600 MX 10 a.ip.test., a.mail.ip.test. 60 MX 20 a.mail.ip.test. |  | a.ip.test. 60 A 10.0.0.9',
  ],
  ['a.other.ip.test', 'MX', 'SERVFAIL'],
  ['hex-1f.ip.test', 'TXT', 'NOERROR | hex-1f.ip.test. 60 TXT "TXT of ip.test." "31"'],
  ['word.txt.ip.test', 'TXT', 'SERVFAIL'],
  ['hex-zz.ip.test', 'TXT', 'NOERROR | hex-zz.ip.test. 60 TXT "text of hex-zz.ip.test"'],
  [
    'x.apps.test',
    'A',
    'NOERROR | x.apps.test. 60 CNAME gateway.infra.test., gateway.infra.test. 60 A 10.0.0.1',
  ],
  ['apps.test', 'A', 'SERVFAIL'],
  ['a.kept.test', 'A', 'NOERROR | a.kept.test. 30 A 10.0.0.8'],
  ['a.kept.test', 'AAAA', 'NXDOMAIN |  | kept.test. 5 SOA ns.kept.test. root.kept.test. 1 2 3 4 1'],
  ['a.exact.test', 'A', 'NOERROR | a.exact.test. 60 A 10.0.0.1'],
  ['c.exact.test', 'A', 'NOERROR | c.exact.test. 60 A 10.0.0.1'],
  [
    'a.short.test',
    'SRV',
    'NOERROR | a.short.test. 60 SRV 1 2 80 port.infra.test., a.short.test. 60 SRV 1 2 81 a.short.test. |  | port.infra.test. 60 A 10.0.0.3',
  ],
  ['old.prefix.test', 'A', 'NOERROR | old.prefix.test. 60 A 10.0.0.1'],
  [
    'old.prefix.test',
    'SRV',
    'NOERROR | old.prefix.test. 60 SRV 1 2 80 port.prefix.test., old.prefix.test. 60 SRV 1 2 81 old.prefix.test. |  | port.prefix.test. 60 A 10.0.0.3',
  ],
  ['a.suffix.test', 'A', 'NOERROR | a.suffix.test. 60 A 10.0.0.1'],
  [
    'a.suffix.test',
    'SRV',
    'NOERROR | a.suffix.test. 60 SRV 1 2 80 port.suffix.test., a.suffix.test. 60 SRV 1 2 81 a.suffix.test. |  | port.suffix.test. 60 A 10.0.0.3',
  ],
  [
    'alias.suffix.test',
    'A',
    'NOERROR | alias.suffix.test. 60 CNAME real.suffix.test., real.suffix.test. 60 A 10.0.0.2',
  ],
  [
    'missing.suffix.test',
    'A',
    'NXDOMAIN |  | infra.test. 60 SOA ns.suffix.test. root.infra.test. 1 2 3 4 60',
  ],
  ['a.plain.test', 'A', 'NOERROR | a.infra.test. 60 A 10.0.0.1'],
  ['a.blue.sub.test', 'A', 'NOERROR | a.blue.sub.test. 60 A 10.0.0.1'],
  ['ftp-us-west-1.regex.test', 'A', 'NOERROR | ftp-us-west-1.regex.test. 60 A 10.0.0.1'],
  [
    'ftp-us-west-1.regex.test',
    'SRV',
    'NOERROR | ftp-us-west-1.regex.test. 60 SRV 1 2 80 port.service.us-west-1.value.test., ftp-us-west-1.regex.test. 60 SRV 1 2 81 ftp.service.us-west-1.value.test. |  | port-us-west-1.regex.test. 60 A 10.0.0.3',
  ],
  ['ftp-us-east-1.regex.test', 'A', 'NOERROR | ftp-us-east-1.regex.test. 60 A 10.0.0.1'],
  ['a.chain.test', 'A', 'NOERROR | a.chain.test. 7 A 10.0.0.1'],
  [
    'alias.chain.test',
    'A',
    'NOERROR | alias.chain.test. 7 CNAME real.chain.test., real.chain.test. 7 A 10.0.0.2',
  ],
  ['a.type.test', 'ANY', 'NOERROR | a.type.test. 60 TXT "text of a.type.test"'],
  ['a.type.test', 'AAAA', 'NOERROR | a.type.test. 60 A 10.0.0.1'],
  ['a.ttl.test', 'A', 'NOERROR | a.ttl.test. 5 A 10.0.0.1'],
  ['low.ttl.test', 'A', 'NOERROR | low.ttl.test. 100 A 10.0.0.1'],
  ['high1.ttl.test', 'A', 'NOERROR | high1.ttl.test. 10 A 10.0.0.1'],
  ['mid.ttl.test', 'A', 'NOERROR | mid.ttl.test. 60 A 10.0.0.1'],
  ['high.ttl.test', 'A', 'NOERROR | high.ttl.test. 60 A 10.0.0.1'],
  ['failing1.rcode.test', 'A', 'NOERROR'],
  [
    'missing.rcode.test',
    'A',
    'REFUSED |  | rcode.test. 60 SOA ns.rcode.test. root.rcode.test. 1 2 3 4 60',
  ],
  ['a.rcode.test', 'A', 'NOERROR | a.rcode.test. 60 A 10.0.0.1'],
  [
    'alias.cname.test',
    'A',
    'NOERROR | alias.cname.test. 60 CNAME gateway.infra.test., gateway.infra.test. 60 A 10.0.0.1',
  ],
  ['a.cname.test', 'A', 'NOERROR | a.cname.test. 60 A 10.0.0.1'],
  ['x.bad.test', 'A', 'SERVFAIL'],
  ['x.old.both.test', 'A', 'NOERROR | x.old.both.test. 60 A 10.0.0.7'],
];

/** What clients of a server see of all questions, in the form of the cases. */
export async function seenAnswers(port: number): Promise<unknown> {
  const seen: (readonly [string, string, string])[] = [];
  for (const [name, type] of MADE_ANSWER_CASES) {
    const message = await ask(port, { name, type });
    const [question] = message.questions;
    seen.push([question!.name, question!.type, textOf(message)]);
  }
  return seen;
}

function textOf({ rcode, bytes }: Message): string {
  const sections: string[][] = [[], [], []];
  const cursor = new RecordCursor().reset(bytes, bytes.length);
  while (cursor.next()) {
    if (cursor.type === TYPE.OPT) continue;
    sections[cursor.section]!.push(recordText(bytes, cursor).replace(' IN ', ' '));
  }
  const [answers = [], authorities = [], additionals = []] = sections;
  const texts = [answers, authorities, additionals].map((each) => each.join(', '));
  return [rcode, ...texts].join(' | ').replace(/( \| )+$/, '');
}
