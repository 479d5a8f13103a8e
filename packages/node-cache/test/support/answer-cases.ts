import {
  addressRecords,
  decodeMessage,
  encodeReply,
  type NameServerRequest,
  type Question,
  type ReplyRecord,
  type Response,
} from '@kube-dns/testkit';

/** The standard Corefile in short. */
export const TEMPLATE = `cluster.local:PORT {
    errors
    cache {
            success 9984 30
            denial 9984 5
    }
    reload
    bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__
    forward . UPSTREAM {
            force_tcp
    }
    prometheus METRICS
    }
in-addr.arpa:PORT {
    errors
    cache 30
    bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__
    forward . UPSTREAM {
            force_tcp
    }
    prometheus METRICS
    }
.:PORT {
    errors
    cache 30
    bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__
    forward . UPSTREAM
    prometheus METRICS
    }
`;

const PLAIN_UDP_BYTES = 512;
const CD = 0x10;
const EDNS = { ednsBytes: 1_232 };

const address = (ttl: number): ReplyRecord => ({ type: 'A', ttl, data: '10.0.0.1' });
const soa = (zone: string, ttl: number, minimum: number): ReplyRecord => ({
  name: zone,
  type: 'SOA',
  ttl,
  data: {
    mname: `ns.${zone}`,
    rname: `root.${zone}`,
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    minimum,
  },
});
const addresses = (count: number) =>
  addressRecords(60, ...Array.from({ length: count }, (_, i) => `10.0.1.${i}`));

const BY_TYPE: Readonly<Record<string, readonly ReplyRecord[]>> = {
  AAAA: [{ type: 'AAAA', ttl: 60, data: '2001:db8::1' }],
  TXT: [{ type: 'TXT', ttl: 60, data: ['x', 'y'] }],
  MX: [{ type: 'MX', ttl: 60, data: { preference: 10, exchange: 'mail.example' } }],
  SRV: [
    { type: 'SRV', ttl: 60, data: { priority: 0, weight: 100, port: 80, target: 'a.example' } },
  ],
  NS: [{ type: 'NS', ttl: 60, data: 'ns.example' }],
  PTR: [{ type: 'PTR', ttl: 60, data: 'host.example' }],
  ANY: [address(60), { type: 'TXT', ttl: 60, data: 'x' }],
};

/** What a name server answers, by the first label of the name. */
function responseTo({ question: { name, type }, protocol }: NameServerRequest): Response {
  const first = name.slice(0, name.indexOf('.')).toLowerCase();
  const zone = name.endsWith('cluster.local') ? 'cluster.local' : 'example';
  const seconds = Number(/\d+$/.exec(first)?.[0] ?? 60);
  const scripts: Readonly<Record<string, Response>> = {
    ttl: { answers: [address(seconds)] },
    plain: { isAuthoritative: false, answers: [address(60)] },
    denied: { rcode: 'NXDOMAIN', authorities: [soa(zone, seconds, seconds)] },
    minimum: { rcode: 'NXDOMAIN', authorities: [soa(zone, 3_600, seconds)] },
    empty: { authorities: [soa(zone, seconds, seconds)] },
    unsound: { rcode: 'NXDOMAIN' },
    without: {},
    failing: { rcode: 'SERVFAIL' },
    refused: { rcode: 'REFUSED' },
    alias: {
      answers: [
        { type: 'CNAME', ttl: 300, data: `host.${zone}` },
        { ...address(20), name: `host.${zone}` },
      ],
    },
    large: { answers: addresses(60) },
    many: { answers: addresses(25) },
    cut: protocol === 'udp' ? { isTruncated: true } : { answers: [address(60)] },
    glue: {
      answers: BY_TYPE.SRV!,
      additionals: [{ ...address(60), name: 'a.example' }],
    },
  };
  const scripted = scripts[/^[a-z]*/.exec(first)![0]];
  const plain = { answers: type === 'A' ? [address(60)] : (BY_TYPE[type] ?? []) };
  return { isAuthoritative: true, ...(scripted ?? plain) };
}

/** Answers as a name server does: with CD as asked, and cut to the size that the client offers. */
export function nameServer(request: NameServerRequest): readonly Uint8Array[] {
  const { query, protocol } = request;
  const reply = encodeReply(query, responseTo(request));
  reply[3]! |= query[3]! & CD;
  if (protocol === 'tcp') return [reply];
  const [opt] = decodeMessage(query).additionals;
  const most =
    opt?.type === 'OPT' ? Math.max(PLAIN_UDP_BYTES, opt.udpPayloadSize) : PLAIN_UDP_BYTES;
  return [
    reply.length > most ? encodeReply(query, { isAuthoritative: true, isTruncated: true }) : reply,
  ];
}

/** Questions that both answer the same; each is asked over UDP and over TCP, twice. */
export const SAME: readonly Question[] = [
  ...['cluster.local', 'example'].flatMap((zone): Question[] => [
    ...['ttl3600', 'ttl20', 'ttl2', 'denied300', 'denied30', 'empty300', 'unsound'].map(
      (first) => ({
        name: `${first}.${zone}`,
      }),
    ),
    ...['without', 'failing', 'refused', 'alias', 'large', 'many'].map((first) => ({
      name: `${first}.${zone}`,
    })),
    ...['AAAA', 'TXT', 'MX', 'SRV', 'NS', 'ANY', 65, 65_280].map((type) => ({
      name: `type-${type}.${zone}`,
      type,
    })),
    { name: `edns.${zone}`, ...EDNS },
    { name: `denied30-edns.${zone}`, ...EDNS },
    { name: `dnssec.${zone}`, ...EDNS, isDnssecOk: true },
    { name: `alone.${zone}`, isRecursionDesired: false },
    { name: `unchecked.${zone}`, isCheckingDisabled: true },
  ]),
  { name: '1.0.0.10.in-addr.arpa', type: 'PTR' },
];

/** What a client sees of a second answer, and how often the name server was asked for both. */
export interface Seen {
  readonly rcode: string;
  readonly flags: readonly string[];
  readonly answers: readonly string[];
  readonly additionals: readonly string[];
  readonly edns: readonly (number | boolean)[];
  readonly ttls: readonly number[];
  readonly asked: number;
}

/** Where both differ: the row of the README, and what shows it. */
export const DIFFERENT: readonly {
  readonly original: string;
  readonly here: string;
  readonly question: Question;
  readonly shows: (seen: Seen) => unknown;
  readonly values: readonly [original: unknown, here: unknown];
}[] = [
  {
    original: 'AA in each answer from the cache',
    here: 'as the server said',
    question: { name: 'plain.example' },
    shows: ({ flags }) => flags.includes('AA'),
    values: [true, false],
  },
  {
    original: 'the cache has the authority and additional sections, too',
    here: 'the records that were asked for; their TTL is the least of all',
    question: { name: 'glue.example', type: 'SRV' },
    shows: ({ additionals }) => additionals.length,
    values: [1, 0],
  },
  {
    original: 'a denial is kept for the TTL of its SOA',
    here: 'and no longer than the minimum in it says (RFC 2308)',
    question: { name: 'minimum9.example' },
    shows: ({ ttls: [ttl = 0] }) => ttl > 10,
    values: [true, false],
  },
  {
    original: 'a truncated reply goes to the client',
    here: 'the server is asked again over TCP',
    question: { name: 'cut.example' },
    shows: ({ answers }) => answers.length,
    values: [0, 1],
  },
  {
    original: 'OPT has the size that the client offers',
    here: '1,232 bytes or `bufsize`',
    question: { name: 'size.example', ednsBytes: 4_096 },
    shows: ({ edns: [size] }) => size,
    values: [4_096, 1_232],
  },
  {
    original: 'the cookie of a client comes back as it is',
    here: 'with one of the server (RFC 7873)',
    question: { name: 'cookie.example', ...EDNS, options: ['10 0123456789abcdef'] },
    shows: ({ edns }) => edns.slice(2),
    values: [
      [10, 8],
      [10, 24],
    ],
  },
  {
    original: 'SERVFAIL has its reason in the log alone',
    here: 'and in the answer (EDE)',
    question: { name: 'failing.example.org', ...EDNS },
    shows: ({ edns }) => edns[2],
    values: [undefined, 15],
  },
  {
    original: 'class CHAOS is forwarded',
    here: 'REFUSED, with the reason',
    question: { name: 'version.bind', type: 'TXT', class: 'CH' },
    shows: ({ rcode }) => rcode,
    values: ['NOERROR', 'REFUSED'],
  },
  {
    original:
      'questions with DO, with CD and without RD are cached, and empty answers without a SOA',
    here: 'forwarded each time',
    question: { name: 'secure.example', ...EDNS, isDnssecOk: true },
    shows: ({ asked }) => asked,
    values: [1, 2],
  },
];
