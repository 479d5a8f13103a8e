import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ask, cnameRecord, type Response, soaRecord } from '@kube-dns/testkit';
import { type Dns64Options, parseNat64Prefix } from '@kube-dns/resolver';
import { encodeKey, FLAG, isInZone, RCODE } from '@kube-dns/wire';
import { AnswererTestbed } from '../../test/answerer-testbed.js';
import { parseAddressRange } from '../options/values.js';

let testbed: AnswererTestbed;

/** The AAAA of 192.0.2.1. */
const MADE = 'AAAA 64:ff9b::c000:201';
const SOA = soaRecord(30);
const CLUSTER = encodeKey('cluster.local');
const RULES: Dns64Options = {
  prefix: parseNat64Prefix('64:ff9b::/96'),
  excluded: [],
  translatesAll: false,
  servesIpv4: true,
  isExempt: ({ name, nameLength }) => isInZone(name, nameLength, CLUSTER),
};

/** What the server has for each type; NODATA with a SOA of 30 s for others. */
type Zone = Readonly<Record<string, Response | null>>;

async function start(zone: Zone, rules: Partial<Dns64Options> = {}, more = {}): Promise<void> {
  testbed.upstream.script = ({ type }) => {
    const response = zone[type];
    return response === undefined ? { authorities: [SOA] } : response;
  };
  await testbed.start({ dns64: { ...RULES, ...rules }, ...more });
}

const a = (address = '192.0.2.1', ttl = 100) => ({
  answers: [{ type: 'A' as const, ttl, data: address }],
});
const aaaa = (...addresses: string[]) => ({
  answers: addresses.map((data) => ({ type: 'AAAA' as const, ttl: 100, data })),
});
const get = (fields: object = {}) =>
  ask(testbed.port, { name: 'a.example', type: 'AAAA', ...fields });
const asked = () => testbed.upstream.requests.map(({ type }) => type);

beforeEach(async () => {
  testbed = await AnswererTestbed.create();
});

afterEach(() => testbed.close());

describe('AAAA of a name without', () => {
  it('is made of its A records, once: then it is a hit', async () => {
    await start({ A: a() });
    const first = await get({ ednsBytes: 1232 });
    expect(first).toMatchObject({ rcode: 'NOERROR', texts: [MADE], ttls: [30] });
    expect(first.bytes.toString('latin1')).toContain('DNS64 64:ff9b::/96');
    const { cached, lookups } = testbed.counters;
    const second = await get({ ednsBytes: 1232 });
    expect(second).toMatchObject({ texts: [MADE] });
    expect(second.bytes.toString('latin1')).toContain('DNS64 64:ff9b::/96');
    expect(asked()).toEqual(['AAAA', 'A']);
    expect([testbed.counters.cached - cached, testbed.counters.lookups - lookups]).toEqual([1, 1]);
    testbed.now += 31;
    expect((await get()).texts).toEqual([MADE]);
    // Its A records have not expired.
    expect(asked()).toEqual(['AAAA', 'A', 'AAAA']);
  });

  it('has the TTL of the A records where that is smaller, and 600 s at most without a SOA', async () => {
    await start({ A: a('192.0.2.1', 20) });
    expect((await get()).ttls).toEqual([20]);
    testbed.upstream.script = ({ type }) => (type === 'A' ? a('192.0.2.1', 900) : {});
    expect((await get({ name: 'b.example' })).ttls).toEqual([600]);
  });

  it('is the negative answer where there is no A record, too', async () => {
    await start({});
    expect(await get()).toMatchObject({ rcode: 'NOERROR', texts: [] });
    expect((await get()).authorities).toHaveLength(1);
    expect(asked()).toEqual(['AAAA', 'A']);
  });

  it('is made for clients that ask at the same time of one question each', async () => {
    await start({ A: a() });
    const answers = await Promise.all([get(), get(), get()]);
    expect(answers.map(({ texts }) => texts)).toEqual([[MADE], [MADE], [MADE]]);
    expect(asked()).toEqual(['AAAA', 'A']);
  });

  it('comes with the CNAMEs of the A records', async () => {
    const link = cnameRecord('a.example', 'b.example', 50);
    const address = { name: 'b.example', type: 'A' as const, ttl: 100, data: '192.0.2.1' };
    await start({ A: { answers: [link, address] }, AAAA: { answers: [link] } });
    for (let i = 0; i < 2; i++) {
      const { texts, answers } = await get();
      expect(texts).toEqual(['CNAME b.example', MADE]);
      expect(answers[1]!.name).toBe('b.example');
    }
    expect(asked()).toEqual(['AAAA', 'A']);
  });

  it.each<[string, Response]>([
    ['SERVFAIL', { rcode: RCODE.SERVFAIL }],
    ['NOTIMP', { rcode: RCODE.NOTIMP }],
  ])('is made where the server says %s to AAAA', async (_what, AAAA) => {
    await start({ A: a(), AAAA });
    expect((await get()).texts).toEqual([MADE]);
    expect((await get()).texts).toEqual([MADE]);
  });

  it('is the error that is said of A', async () => {
    await start({ A: { rcode: RCODE.SERVFAIL } });
    expect(await get()).toMatchObject({ rcode: 'SERVFAIL', texts: [] });
  });
});

describe('nothing is made', () => {
  it('of a name that does not exist', async () => {
    await start({ AAAA: { rcode: 'NXDOMAIN', authorities: [SOA] }, A: a() });
    expect(await get()).toMatchObject({ rcode: 'NXDOMAIN', texts: [] });
    expect(asked()).toEqual(['AAAA']);
  });

  it('where there are AAAA records', async () => {
    await start({ AAAA: aaaa('2001:db8::1'), A: a() });
    expect((await get()).texts).toEqual(['AAAA 2001:db8::1']);
    expect(asked()).toEqual(['AAAA']);
  });

  it('for a name of the cluster, nor of an address that a CNAME has there', async () => {
    const answers = [
      cnameRecord('a.example', 's.cluster.local', 50),
      { name: 's.cluster.local', type: 'A' as const, ttl: 100, data: '10.0.0.1' },
    ];
    await start({ A: { answers } });
    expect((await get({ name: 'web.cluster.local' })).texts).toEqual([]);
    expect(asked()).toEqual(['AAAA']);
    expect((await get()).texts).toEqual([]);
  });

  it('for a client that validates, and for one that does not want recursion', async () => {
    await start({ A: a() });
    const validating = { ednsBytes: 1232, isDnssecOk: true, isCheckingDisabled: true };
    expect((await get(validating)).texts).toEqual([]);
    expect((await get({ isRecursionDesired: false })).texts).toEqual([]);
    expect(asked()).not.toContain('A');
  });

  it('for clients over IPv4 where they are not served', async () => {
    await start({ A: a() }, { servesIpv4: false });
    expect((await get()).texts).toEqual([]);
    expect(asked()).toEqual(['AAAA']);
  });

  it('for other types', async () => {
    await start({ A: a() });
    expect((await get({ type: 'TXT' })).texts).toEqual([]);
    expect((await get({ type: 'A' })).texts).toEqual(['A 192.0.2.1']);
  });
});

describe('a client that only sets DO or CD', () => {
  it('gets what is made, without AD, and it is not cached', async () => {
    await start({ A: a() });
    for (const fields of [{ ednsBytes: 1232, isDnssecOk: true }, { isCheckingDisabled: true }]) {
      const { texts, flags } = await get(fields);
      expect([texts, flags & FLAG.AD]).toEqual([[MADE], 0]);
    }
  });
});

describe('excluded addresses', () => {
  it('mapped ones count as absent', async () => {
    await start({ AAAA: aaaa('::ffff:192.0.2.9'), A: a() });
    expect((await get()).texts).toEqual([MADE]);
  });

  it.each<[string, object]>([
    ['any client', {}],
    ['one that sets DO', { ednsBytes: 1232, isDnssecOk: true }],
    ['one that sets CD', { isCheckingDisabled: true }],
  ])('are nothing for %s where there is no A record either', async (_who, fields) => {
    const rest = { authorities: [SOA] };
    await start({ AAAA: Object.assign(aaaa('::ffff:192.0.2.9'), rest) });
    for (let i = 0; i < 2; i++)
      expect(await get(fields)).toMatchObject({ rcode: 'NOERROR', texts: [] });
  });

  it('are left out beside others, and of the cache', async () => {
    const excluded = [parseAddressRange('2001:db8:1::/48')];
    await start({ AAAA: aaaa('2001:db8:1::1', '2001:db8:2::1'), A: a() }, { excluded });
    expect((await get()).texts).toEqual(['AAAA 2001:db8:2::1']);
    expect((await get()).texts).toEqual(['AAAA 2001:db8:2::1']);
    expect(asked()).toEqual(['AAAA']);
  });

  it('are left out for a client that sets CD, too', async () => {
    const excluded = [parseAddressRange('2001:db8:1::/48')];
    await start({ AAAA: aaaa('2001:db8:1::1', '2001:db8:2::1'), A: a() }, { excluded });
    expect((await get({ isCheckingDisabled: true })).texts).toEqual(['AAAA 2001:db8:2::1']);
  });

  it('of IPv4 are not translated', async () => {
    await start({ A: a('10.1.2.3') }, { excluded: [parseAddressRange('10.0.0.0/8')] });
    expect(await get()).toMatchObject({ rcode: 'NOERROR', texts: [] });
  });
});

describe('with all translated', () => {
  it('a name with AAAA records has those of its A records, once', async () => {
    await start({ AAAA: aaaa('2001:db8::1'), A: a() }, { translatesAll: true });
    expect((await get()).texts).toEqual([MADE]);
    expect((await get()).texts).toEqual([MADE]);
    expect(asked()).toEqual(['AAAA', 'A']);
  });

  it('and its own where it has no other', async () => {
    await start({ AAAA: aaaa('2001:db8::1') }, { translatesAll: true });
    expect((await get()).texts).toEqual(['AAAA 2001:db8::1']);
  });
});

describe('what is cached', () => {
  it('is made anew once the cache was emptied', async () => {
    await start({ A: a() });
    expect((await get()).texts).toEqual([MADE]);
    testbed.cache.clear();
    expect((await get()).texts).toEqual([MADE]);
    expect(asked()).toEqual(['AAAA', 'A', 'AAAA', 'A']);
  });

  it('is asked for before it expires, and made of A records that are there', async () => {
    const prefetch = { hits: 2, percent: 10 };
    await start({ A: a() }, {}, { prefetch });
    for (let i = 0; i < 3; i++) await get();
    testbed.now += 28;
    expect((await get()).texts).toEqual([MADE]);
    await testbed.settle();
    expect(asked()).toEqual(['AAAA', 'A', 'AAAA']);
    testbed.now += 5;
    expect((await get()).texts).toEqual([MADE]);
    expect(asked()).toEqual(['AAAA', 'A', 'AAAA']);
  });

  it('is given expired while no server replies', async () => {
    const stale = { timeoutMs: 100, maxAgeSeconds: 3_600, ttlSeconds: 30 };
    await start({ A: a() }, {}, { stale });
    await get();
    testbed.now += 200;
    testbed.upstream.script = () => null;
    expect((await testbed.late(100, get)).texts).toEqual([MADE]);
  });
});

describe('a reverse name below the prefix', () => {
  const NAME = '1.0.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa';
  const reverse = () => ask(testbed.port, { name: NAME, type: 'PTR' });

  it('is a CNAME to that of the IPv4 address, with its records, cached', async () => {
    const PTR = { answers: [{ type: 'PTR' as const, ttl: 70, data: 'host.example' }] };
    await start({ PTR });
    for (let i = 0; i < 2; i++) {
      expect(await reverse()).toMatchObject({
        texts: ['CNAME 1.2.0.192.in-addr.arpa', 'PTR host.example'],
        ttls: [70, 70],
      });
    }
    expect(testbed.upstream.requests.map(({ name }) => name)).toEqual(['1.2.0.192.in-addr.arpa']);
  });

  // RFC 1034 sections 3.6.2 and 4.3.2: a name with a CNAME has it for every type.
  const TYPES = ['TXT', 'A', 'AAAA', 'NS', 'SOA', 'DS', 'CNAME', 'ANY', 'PTR'] as const;
  it.each([
    ['in this order', TYPES],
    ['and in the other', TYPES.toReversed()],
  ])('is a CNAME for every type, %s', async (_order, types) => {
    const PTR = { answers: [{ type: 'PTR' as const, ttl: 70, data: 'host.example' }] };
    const TXT = { answers: [{ type: 'TXT' as const, ttl: 70, data: 'text' }] };
    await start({ PTR, TXT, A: { authorities: [soaRecord(30, 'in-addr.arpa')] } });
    const CNAME = 'CNAME 1.2.0.192.in-addr.arpa';
    const expected: Readonly<Record<string, readonly string[]>> = {
      PTR: [CNAME, 'PTR host.example'],
      TXT: [CNAME, 'TXT text'],
    };
    for (const type of [...types, ...types]) {
      const { texts } = await ask(testbed.port, { name: NAME, type });
      expect([type, ...texts]).toEqual([type, ...(expected[type] ?? [CNAME])]);
    }
    const names = new Set(testbed.upstream.requests.map(({ name }) => name));
    expect([...names]).toEqual(['1.2.0.192.in-addr.arpa']);
    expect(asked()).not.toContain('CNAME');
    expect(asked()).not.toContain('ANY');
  });

  // RFC 8020: NXDOMAIN says that there is nothing below.
  it.each([
    ['above the prefix', '64:ff9b::/96', '4.6.0.0', 'NOERROR'],
    [
      'that is the prefix',
      '64:ff9b::/96',
      '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0',
      'NOERROR',
    ],
    ['below it', '64:ff9b::/96', '0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0', 'NOERROR'],
    ['beside it', '64:ff9b::/96', '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0', 'NXDOMAIN'],
    ['above and beside it', '64:ff9b::/96', '5.6.0.0', 'NXDOMAIN'],
    ['with a label that is no digit', '64:ff9b::/96', 'x.4.6.0.0', 'NXDOMAIN'],
    [
      'below one of 40 bits, in the octet u',
      '2001:db8:100::/40',
      '0.2.1.2.1.2.1.1.0.8.b.d.0.1.0.0.2',
      'NOERROR',
    ],
    [
      'with other bits than zero there',
      '2001:db8:100::/40',
      '1.2.1.2.1.2.1.1.0.8.b.d.0.1.0.0.2',
      'NXDOMAIN',
    ],
  ])(
    'a name %s (%s) is denied only where none can be below it',
    async (_what, prefix, labels, rcode) => {
      const denial = { rcode: 'NXDOMAIN', authorities: [soaRecord(30, 'ip6.arpa')] } as const;
      await start({ PTR: denial, NS: denial }, { prefix: parseNat64Prefix(prefix) });
      for (const type of ['PTR', 'NS', 'PTR'] as const) {
        const answer = await ask(testbed.port, { name: `${labels}.ip6.arpa`, type });
        expect(answer).toMatchObject({ rcode, texts: [], authorities: [{ name: 'ip6.arpa' }] });
      }
    },
  );

  it('is not asked for before it expires: a server would deny it', async () => {
    const records = { answers: [{ type: 'TXT' as const, ttl: 30, data: 'text' }] };
    await start({ TXT: records }, {}, { prefetch: { hits: 2, percent: 10 } });
    for (const type of ['TXT', 'AAAA'] as const) {
      for (let i = 0; i < 3; i++) await ask(testbed.port, { name: NAME, type });
    }
    testbed.now += 28;
    await ask(testbed.port, { name: NAME, type: 'TXT' });
    await testbed.settle();
    expect(testbed.upstream.requests.map(({ name }) => name)).not.toContain(NAME);
  });

  it('is a CNAME to nothing where that has no name', async () => {
    await start({ PTR: { rcode: 'NXDOMAIN', authorities: [soaRecord(30, 'in-addr.arpa')] } });
    expect(await reverse()).toMatchObject({
      rcode: 'NXDOMAIN',
      texts: ['CNAME 1.2.0.192.in-addr.arpa'],
    });
  });

  it('exists where its zone is a local one, too', async () => {
    await start({}, {}, { rules: [testbed.upstream.text, '/ip6.arpa/'] });
    const parent = NAME.slice(2);
    expect(await ask(testbed.port, { name: parent, type: 'PTR' })).toMatchObject({
      rcode: 'NOERROR',
    });
  });

  it('of another prefix is asked as it is', async () => {
    await start({}, { prefix: parseNat64Prefix('2001:db8::/32') });
    await reverse();
    expect(testbed.upstream.requests.map(({ name }) => name)).toEqual([NAME]);
  });
});
