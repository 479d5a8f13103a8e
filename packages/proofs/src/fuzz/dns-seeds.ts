import {
  AnswerWriter,
  encodeName,
  encodeQuery,
  encodeRdata,
  FLAG,
  Query,
  RCODE,
  readUint16,
  SECTION,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** A record as one writes it down. */
interface SeedRecord {
  readonly owner: string;
  readonly type: keyof typeof TYPE;
  readonly data: unknown;
  readonly section?: 'answer' | 'authority' | 'additional';
}

const SECTIONS = {
  answer: SECTION.ANSWER,
  authority: SECTION.AUTHORITY,
  additional: SECTION.ADDITIONAL,
} as const;
const OPT = Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
/** OPT with DO, a client subnet and a cookie. */
const OPT_WITH_OPTIONS = Buffer.from([
  ...[0, 0, 41, 16, 0, 0, 0, 0x80, 0, 0, 23],
  ...[0, 8, 0, 7, 0, 1, 24, 0, 192, 0, 2],
  ...[0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8],
]);
/** OPT with NSID and both cookies. */
const OPT_WITH_COOKIES = Buffer.from([
  ...[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 32, 0, 3, 0, 0],
  ...[0, 10, 0, 24, 1, 2, 3, 4, 5, 6, 7, 8],
  ...[1, 0, 0, 0, 0x6b, 3, 0x18, 0x17, 1, 2, 3, 4, 5, 6, 7, 8],
]);
/** OPT with Extended DNS Errors: a text, one that is not UTF-8, no code, and more bytes than there are. */
const OPT_WITH_REASONS = Buffer.from([
  ...[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 28, 0, 15, 0, 4, 0, 6, 110, 111],
  ...[0, 15, 0, 4, 0, 9, 255, 10, 0, 15, 0, 1, 0, 0, 15, 0, 9, 0, 7],
]);
const out = new Uint8Array(65_535);

/** A query, and the same with EDNS, and with options in it. */
export function queriesFor(name: string, type: string, recordClass: 'IN' | 'CH' = 'IN'): Buffer[] {
  const query = Buffer.from(encodeQuery({ id: 0x1234, name, type, class: recordClass }));
  const opts = [OPT, OPT_WITH_OPTIONS, OPT_WITH_COOKIES];
  return [query, ...opts.map((opt) => withAdditional(query, opt))];
}

/** A query without a question, for a server cookie (RFC 7873 section 5.4). */
export function cookieQuery(): Buffer {
  return withAdditional(Buffer.from('123401000000000000000000', 'hex'), OPT_WITH_COOKIES);
}

/** A response to a question of type A, or of another one. */
export function responseTo(
  name: string,
  type: string,
  records: readonly SeedRecord[],
  rcode: number = RCODE.NOERROR,
): Buffer {
  const message = encodeQuery({ id: 0x1234, name, type });
  const query = new Query();
  query.read(message, message.length, true, out.length);
  const writer = new AnswerWriter();
  writer.begin(query, out);
  writer.setRcode(rcode);
  for (const { owner, type: recordType, data, section = 'answer' } of records) {
    // The name and the data come from the tables beside the callers.
    const rdata = encodeRdata({ type: recordType, name: '.', data } as Parameters<
      typeof encodeRdata
    >[0]);
    writer.add(SECTIONS[section], encodeName(owner), TYPE[recordType], 30, rdata);
  }
  return Buffer.from(out.subarray(0, writer.finish()));
}

/** The same message with another place of its bits of TC and AA, for those who look at them. */
export function withFlags(message: Buffer, flags: number): Buffer {
  const changed = Buffer.from(message);
  writeUint16(changed, 2, readUint16(changed, 2) | flags);
  return changed;
}

/** A message with a record more at its end. */
export function withAdditional(message: Buffer, record: Buffer): Buffer {
  const longer = Buffer.concat([message, record]);
  writeUint16(longer, 10, readUint16(longer, 10) + 1);
  return longer;
}

const SOA = {
  mname: 'ns.example.com',
  rname: 'hostmaster.example.com',
  serial: 1,
  refresh: 7_200,
  retry: 1_800,
  expire: 86_400,
  minimum: 60,
};

/** Replies of every kind that name servers give, to questions for a name of this domain. */
export function replySeeds(domain: string): Buffer[] {
  const name = `n0.${domain}`;
  const cname = { owner: name, type: 'CNAME', data: `b.${domain}` } as const;
  const soa = { owner: domain, type: 'SOA', data: SOA, section: 'authority' } as const;
  const seeds = [
    responseTo(name, 'A', [{ owner: name, type: 'A', data: '192.0.2.1' }]),
    responseTo(name, 'A', [cname, { owner: `b.${domain}`, type: 'A', data: '10.0.0.1' }]),
    responseTo(name, 'AAAA', [cname, { owner: `b.${domain}`, type: 'AAAA', data: '2001:db8::1' }]),
    responseTo(name, 'A', [soa]),
    responseTo(name, 'A', [soa], RCODE.NXDOMAIN),
    responseTo(name, 'A', [], RCODE.SERVFAIL),
    responseTo(name, 'A', [], RCODE.REFUSED),
    responseTo(name, 'MX', [
      { owner: name, type: 'MX', data: { preference: 10, exchange: `mail.${domain}` } },
      { owner: `mail.${domain}`, type: 'A', data: '192.0.2.2', section: 'additional' },
    ]),
    responseTo(name, 'TXT', [{ owner: name, type: 'TXT', data: ['a', 'b'.repeat(200)] }]),
    responseTo(name, 'PTR', [{ owner: name, type: 'PTR', data: `p.${domain}` }]),
    responseTo(name, 'SRV', [
      {
        owner: name,
        type: 'SRV',
        data: { priority: 1, weight: 2, port: 53, target: `s.${domain}` },
      },
      { owner: domain, type: 'NS', data: `ns.${domain}`, section: 'authority' },
    ]),
    responseTo(
      name,
      'A',
      Array.from({ length: 12 }, (_, i) => ({
        owner: i === 0 ? name : `c${i}.${domain}`,
        type: 'CNAME' as const,
        data: `c${i + 1}.${domain}`,
      })),
    ),
    responseTo(
      name,
      'A',
      Array.from({ length: 40 }, (_, i) => ({
        owner: name,
        type: 'A' as const,
        data: `10.0.0.${i}`,
      })),
    ),
  ];
  const first = seeds[0]!;
  return [
    ...seeds,
    withAdditional(first, OPT),
    withAdditional(first, OPT_WITH_OPTIONS),
    withAdditional(first, OPT_WITH_REASONS),
    withFlags(first, FLAG.TC),
    withFlags(first, FLAG.AA),
  ];
}
