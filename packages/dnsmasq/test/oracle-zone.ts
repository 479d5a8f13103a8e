import {
  addressRecords,
  encodeReply,
  type NameServerRequest,
  optRecord,
  type ReplyRecord,
  type Response,
  withRecord,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';

const SOA: ReplyRecord = {
  name: 'cluster.local',
  type: 'SOA',
  ttl: 60,
  data: {
    mname: 'ns.cluster.local',
    rname: 'root.cluster.local',
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    minimum: 5,
  },
};

const ONE = addressRecords(30, '10.0.0.1');
const MANY = addressRecords(30, ...Array.from({ length: 60 }, (_, i) => `10.0.1.${i}`));

const address = (name: string, ttl = 30): ReplyRecord => ({ ...ONE[0]!, name, ttl });
const cname = (name: string, data: string, ttl = 300): ReplyRecord => ({
  name,
  type: 'CNAME',
  ttl,
  data,
});

const service = { priority: 0, weight: 10, port: 80, target: 'one.cluster.local' };

/** The replies of the comparison's upstream, by the first label of the question's name. */
export const ZONE: Readonly<Record<string, Response>> = {
  one: { isAuthoritative: true, answers: ONE },
  set: { isAuthoritative: true, answers: addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3') },
  many: { answers: MANY, isCompressed: true },
  six: { answers: [{ type: 'AAAA', ttl: 30, data: 'fd00::1' }] },
  alias: {
    answers: [
      cname('alias.cluster.local', 'middle.cluster.local'),
      cname('middle.cluster.local', 'end.cluster.local', 200),
      address('end.cluster.local', 100),
    ],
  },
  lone: { answers: [cname('lone.cluster.local', 'gone.cluster.local')] },
  dangling: {
    rcode: RCODE.NXDOMAIN,
    answers: [cname('dangling.cluster.local', 'gone.cluster.local')],
    authorities: [SOA],
  },
  planted: { answers: [address('planted.cluster.local'), address('other.cluster.local')] },
  hinting: { answers: ONE, additionals: [address('hint.cluster.local')] },
  service: {
    answers: [{ type: 'SRV', ttl: 30, data: service }],
    additionals: [address('one.cluster.local')],
  },
  reverse: { answers: [{ type: 'PTR', ttl: 30, data: 'one.cluster.local' }] },
  text: { answers: [{ type: 'TXT', ttl: 30, data: 'hello' }] },
  empty: { authorities: [SOA] },
  missing: { rcode: RCODE.NXDOMAIN, isAuthoritative: true, authorities: [SOA] },
  bare: { rcode: RCODE.NXDOMAIN },
  broken: { rcode: RCODE.SERVFAIL },
  closed: { rcode: RCODE.REFUSED },
  strange: { rcode: RCODE.NOTIMP },
  zero: { answers: addressRecords(0, '10.0.0.1') },
  brief: { answers: addressRecords(1, '10.0.0.1') },
  mixed: { answers: [...addressRecords(1, '10.0.0.1'), ...addressRecords(500, '10.0.0.2')] },
  long: { answers: addressRecords(80_000, '10.0.0.1') },
};

/** The script of that upstream: `1.….in-addr.arpa` is `reverse`, `nN` is two addresses. */
export function respond({ query, name, isOverTcp }: NameServerRequest): Response | Buffer[] {
  const label = name.split('.')[0]!;
  if (label === '1') return ZONE.reverse!;
  if (/^n\d+$/.test(label)) return { answers: addressRecords(30, '10.0.0.1', '10.0.0.2') };
  if (label === 'cut')
    return isOverTcp ? { answers: MANY, isCompressed: true } : { isTruncated: true, answers: ONE };
  // An OPT record that was not asked for.
  if (label === 'unasked') {
    return [withRecord(encodeReply(query, { answers: ONE, hasNoOpt: true }), optRecord())];
  }
  return ZONE[label] ?? { answers: ONE };
}
