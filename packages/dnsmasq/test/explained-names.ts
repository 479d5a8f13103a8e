import { RCODE } from '@kube-dns/wire';
import { addressRecords, cnameRecord, soaRecord } from '@kube-dns/resolver/testing';
import type { Reply } from './fake-upstream.js';

/** A question that is generated, and the kind that its answer has. */
export interface GeneratedQuestion {
  readonly name: string;
  readonly type: string;
}

/** The first label of names that a server answers so. */
const KINDS = {
  one: (i) => ({ answers: addressRecords(60 + (i % 9), `192.0.2.${i % 250}`) }),
  many: (i) => ({
    isAuthoritative: true,
    answers: addressRecords(30, `192.0.2.${i % 250}`, '198.51.100.1', '198.51.100.2'),
  }),
  alias: (i, name) => ({
    answers: [
      cnameRecord(name, `target${i}.x`, 300),
      { ...addressRecords(20, '192.0.2.7')[0]!, owner: `target${i}.x` },
    ],
  }),
  text: (i) => ({ answers: [{ type: 'TXT', ttl: 60, data: `text ${i}` }] }),
  none: () => ({ rcode: RCODE.NXDOMAIN, authorities: [soaRecord(60, 'x')] }),
  empty: () => ({ authorities: [soaRecord(60, 'x')] }),
  servfail: () => ({ rcode: RCODE.SERVFAIL }),
  refused: () => ({ rcode: RCODE.REFUSED }),
  lame: () => ({ rcode: RCODE.NOERROR, authorities: [] }),
  private: () => ({ answers: addressRecords(60, '10.0.0.1') }),
  bogus: () => ({ answers: addressRecords(60, '203.0.113.66') }),
  aliased: () => ({ answers: addressRecords(60, '203.0.113.77') }),
} as const satisfies Record<string, (i: number, name: string) => Reply>;

type Kind = keyof typeof KINDS;

/** The options of the server that the questions are for. */
export const GENERATED_OPTIONS = [
  ...[
    '--cache-size=20000',
    '--query-timeout=60000',
    '--fast-dns-retry=20000,60000',
    '--stop-dns-rebind',
    '--filter-AAAA',
  ],
  ...['--bogus-nxdomain=203.0.113.66', '--alias=203.0.113.77,192.0.2.77', '--bogus-priv'],
  ...['--local=/lan/', '--address=/ads.x/0.0.0.0', '--domain-needed', '--filterwin2k'],
  ...['--synth-domain=synth.x,10.2.0.0/16,ip-', '--cname=c.x,h.x', '--cname=far.x,one1.x'],
  ...['--host-record=h.x,10.3.0.1,fd00::1', '--txt-record=t.x,here', '--srv-host=_s._tcp.x,h.x,53'],
];

/** What the upstream of generated questions replies. */
export function generatedReply(name: string): Reply {
  const [, kind = '', number = '0'] = /^([a-z]+)(\d+)\./.exec(name) ?? [];
  return kind in KINDS ? KINDS[kind as Kind](Number(number), name) : KINDS.none();
}

/** A question by its number: most are for servers, every fifth is for local data and rules. */
export function generatedQuestion(i: number): GeneratedQuestion {
  const kinds = Object.keys(KINDS) as Kind[];
  if (i % 5 === 0) return localQuestion(i / 5);
  const kind = kinds[(i * 7) % kinds.length]!;
  const type = kind === 'text' ? 'TXT' : i % 11 === 0 ? 'AAAA' : 'A';
  return {
    name: `${i % 3 === 0 ? kind.toUpperCase() : kind}${i}.${i % 4 === 0 ? 'corp.x' : 'x'}`,
    type,
  };
}

const LOCAL_TYPES = ['A', 'AAAA', 'PTR', 'TXT', 'SRV', 'MX', 'ANY', 'CNAME', 'SOA'];

function localQuestion(i: number): GeneratedQuestion {
  const names = [
    ...['h.x', 'c.x', 't.x', '_s._tcp.x', `n${i}.lan`, 'lan', `n${i}.ads.x`, 'ads.x', `plain${i}`],
    ...[
      `ip-10-2-${i % 256}-7.synth.x`,
      `7.${i % 256}.2.10.in-addr.arpa`,
      `1.${i % 256}.168.192.in-addr.arpa`,
    ],
    ...['1.0.3.10.in-addr.arpa', '.', 'x', `none${i}.h.x`],
  ];
  return { name: names[i % names.length]!, type: LOCAL_TYPES[i % LOCAL_TYPES.length]! };
}
