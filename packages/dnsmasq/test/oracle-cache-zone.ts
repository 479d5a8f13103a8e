import {
  addressRecords,
  encodeReply,
  type NameServerRequest,
  type ReplyRecord,
  type Response,
} from '@kube-dns/testkit';
import { FLAG, RCODE } from '@kube-dns/wire';

const soa = (name: string, ttl: number, minimum: number): ReplyRecord => ({
  name,
  type: 'SOA',
  ttl,
  data: {
    mname: 'ns.zone.test',
    rname: 'root.zone.test',
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    minimum,
  },
});
const cname = (data: string, ttl = 300, name?: string): ReplyRecord => ({
  ...(name !== undefined && { name }),
  type: 'CNAME',
  ttl,
  data,
});
const address = (name: string, data = '192.0.1.1', ttl = 100): ReplyRecord => ({
  name,
  type: 'A',
  ttl,
  data,
});
const six = (data: string): ReplyRecord => ({ type: 'AAAA', ttl: 100, data });
const pointer = (data: string): ReplyRecord => ({ type: 'PTR', ttl: 100, data });
const service = (weight: number): ReplyRecord => ({
  type: 'SRV',
  ttl: 100,
  data: { priority: 0, weight, port: 80, target: `t${weight}.zone.test` },
});

const SOA = soa('zone.test', 60, 20);

/** What the upstream of the comparison says, by the first label; every name is below `zone.test`. */
const ANSWERS: Readonly<Record<string, Response>> = {
  set: { answers: addressRecords(100, '192.0.1.0', '192.0.1.1', '192.0.1.2', '192.0.1.3') },
  six: { answers: [six('2a00::1')] },
  services: { answers: [service(1), service(2), service(3)] },
  mail: { answers: [{ type: 'MX', ttl: 100, data: { preference: 1, exchange: 'm.zone.test' } }] },
  text: { answers: [{ type: 'TXT', ttl: 100, data: 'hello' }] },
  chain: {
    answers: [
      cname('middle.zone.test'),
      cname('end.zone.test', 200, 'middle.zone.test'),
      address('end.zone.test'),
    ],
  },
  backwards: { answers: [address('last.zone.test'), cname('last.zone.test')] },
  planted: {
    answers: [address('planted.zone.test'), address('victim.zone.test', '192.0.1.66')],
    additionals: [address('hint.zone.test')],
  },
  circle: { answers: [cname('round.zone.test'), cname('circle.zone.test', 9, 'round.zone.test')] },
  bare: { answers: [cname('nothing.zone.test')] },
  missing: { rcode: RCODE.NXDOMAIN, authorities: [SOA] },
  brief: { answers: addressRecords(1, '192.0.1.1') },
  fading: { rcode: RCODE.NXDOMAIN, authorities: [soa('sub.zone.test', 60, 1)] },
  short: { rcode: RCODE.NXDOMAIN, authorities: [soa('zone.test', 5, 50)] },
  empty: { authorities: [SOA] },
  astray: { rcode: RCODE.NXDOMAIN, authorities: [soa('other.test', 60, 20)] },
  alike: { rcode: RCODE.NXDOMAIN, authorities: [soa('one.test', 60, 20)] },
  instant: { rcode: RCODE.NXDOMAIN, authorities: [soa('zone.test', 60, 0)] },
  unsigned: { rcode: RCODE.NXDOMAIN },
  referral: { authorities: [{ name: 'zone.test', type: 'NS', ttl: 60, data: 'ns.zone.test' }] },
  dangling: { rcode: RCODE.NXDOMAIN, answers: [cname('gone.zone.test')], authorities: [SOA] },
  hollow: { answers: [cname('void.zone.test')], authorities: [SOA] },
  zero: { answers: addressRecords(0, '192.0.1.1') },
  high: { answers: addressRecords(0x8000_0100, '192.0.1.1') },
  long: { answers: addressRecords(1_000_000, '192.0.1.1') },
  private: { answers: addressRecords(100, '10.0.0.1') },
  half: { answers: addressRecords(100, '192.0.1.1', '192.168.0.1') },
  loopback: { answers: addressRecords(100, '127.0.0.1') },
  mapped: { answers: [six('::ffff:10.0.0.1')] },
  local: { answers: [six('fd00::1')] },
  led: { answers: [cname('in.zone.test'), address('in.zone.test', '172.16.0.1')] },
  bogus: { answers: addressRecords(100, '192.0.1.1', '198.18.0.7') },
  fails: { rcode: RCODE.SERVFAIL },
  refused: { rcode: RCODE.REFUSED },
  notimp: { rcode: RCODE.NOTIMP },
  many: { answers: addressRecords(100, ...Array.from({ length: 60 }, (_, i) => `192.0.1.${i}`)) },
  doubles: { answers: addressRecords(100, '192.0.1.1', '192.0.1.1') },
  twosoas: { rcode: RCODE.NXDOMAIN, authorities: [SOA, soa('test', 30, 10)] },
  rootsoa: { rcode: RCODE.NXDOMAIN, authorities: [soa('.', 60, 20)] },
  lost: { rcode: RCODE.NXDOMAIN, answers: [cname('nowhere.zone.test')] },
  shared: { answers: [cname('target.zone.test'), address('target.zone.test')] },
  sharing: { answers: [cname('target.zone.test'), address('target.zone.test', '192.0.1.2')] },
  ledastray: { answers: [cname('strayed.zone.test'), address('strayed.zone.test', '198.18.0.7')] },
  offpath: { answers: [...addressRecords(100, '192.0.1.1'), address('x.zone.test', '10.0.0.1')] },
  assorted: {
    answers: [
      ...addressRecords(100, '192.0.1.1'),
      { type: 'MX', ttl: 100, data: { preference: 1, exchange: 'm.zone.test' } },
    ],
  },
  pair: { answers: addressRecords(100, '192.0.1.1', '192.0.1.2') },
  // ARPA names start with a number.
  1: { answers: [pointer('one.zone.test')] },
  2: { answers: [pointer('two.zone.test'), pointer('other.zone.test')] },
  3: { rcode: RCODE.NXDOMAIN, authorities: [soa('10.in-addr.arpa', 60, 20)] },
  4: {
    answers: [
      cname('4.sub.zone.test', 50),
      { ...pointer('four.zone.test'), name: '4.sub.zone.test' },
    ],
  },
};

const DENIED: Response = { rcode: RCODE.NXDOMAIN, authorities: [SOA] };
const SIX_AT_END = { ...six('2a00::5'), name: 'end.zone.test' };
/** What it says of other types than A of names that have addresses. */
const BY_TYPE: Readonly<Record<string, Readonly<Record<string, Response>>>> = {
  end: { AAAA: { answers: [SIX_AT_END] } },
  middle: { AAAA: { answers: [cname('end.zone.test', 200), SIX_AT_END] } },
  chain: {
    AAAA: {
      answers: [
        cname('middle.zone.test'),
        cname('end.zone.test', 200, 'middle.zone.test'),
        SIX_AT_END,
      ],
    },
    CNAME: { answers: [cname('middle.zone.test')] },
  },
  both: { AAAA: { answers: [six('2a00::1')] } },
  four: { AAAA: DENIED, TXT: DENIED },
  fourth: {
    A: { answers: [cname('four.zone.test'), address('four.zone.test')] },
    AAAA: { ...DENIED, answers: [cname('four.zone.test')] },
  },
};

const PLAIN: Response = { answers: addressRecords(100, '192.0.1.1') };

/** Replies with something about them that a server would not write. */
const CRAFTED: Readonly<Record<string, (request: NameServerRequest) => Buffer>> = {
  badaddress: (request) => damaged(request, [0, 1, 0, 1, 0, 0, 0, 9, 0, 3, 1, 2, 3]),
  badname: (request) => damaged(request, [0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 0xff]),
  overcount: ({ query }) => changed(encodeReply(query, PLAIN), (reply) => (reply[7] = 3)),
  otherclass: ({ query, questionEnd }) =>
    changed(encodeReply(query, PLAIN), (reply) => (reply[questionEnd + 5] = 3)),
  validated: ({ query }) => changed(encodeReply(query, PLAIN), (reply) => (reply[3]! |= FLAG.AD)),
  // The upper bits of the rcode, in OPT.
  // No error that has a meaning: the next query after BADVERS is without EDNS.
  extended: ({ query }) =>
    changed(encodeReply(query, {}), (reply) => (reply[reply.length - 6] = 2)),
};

/** dnsmasq lowers it to its own. */
const MAX_EDNS_BYTES = 65_535;

/** The script of that upstream. */
export function respond(request: NameServerRequest): Response | readonly Buffer[] {
  const label = request.name.split('.')[0]!;
  const craft = CRAFTED[label];
  if (craft !== undefined) return [craft(request)];
  const response =
    BY_TYPE[label]?.[request.type] ?? ANSWERS[label === 'both' ? 'set' : label] ?? PLAIN;
  return { isCompressed: true, ednsBytes: MAX_EDNS_BYTES, ...response };
}

/** A response with one record, whose owner is the question's name, from its type on. */
function damaged({ query, questionEnd }: NameServerRequest, record: readonly number[]): Buffer {
  const question = query.subarray(0, questionEnd);
  const message = Buffer.concat([question, Buffer.from([0xc0, 12, ...record])]);
  message[2]! |= 0x80;
  message[7] = 1;
  message[11] = 0;
  return message;
}

function changed(reply: Buffer, change: (reply: Buffer) => unknown): Buffer {
  change(reply);
  return reply;
}
