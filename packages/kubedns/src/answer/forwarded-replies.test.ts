import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '@kube-dns/base';
import { parseDnsConfig } from '@kube-dns/daemon';
import { type ReplyRecord, ScriptedNameServer, until } from '@kube-dns/testkit';
import { Answers } from '../../test/support/answers.js';
import { serviceObject } from '../../test/support/objects.js';
import { StaticHosts } from '../outside/static-hosts.js';
import { ClusterZone } from '../zone/cluster-zone.js';

const OWN = 'web.default.svc.cluster.local';
const NAME = 'x.stub.test';
const SOA = 'cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local 5';

let upstream: ScriptedNameServer;
let answers: Answers;
beforeEach(async () => {
  upstream = await ScriptedNameServer.start();
  answers = new Answers();
  answers.forwardTo(upstream.hostPort);
  answers.cluster.services.put(serviceObject());
});
afterEach(async () => {
  answers.close();
  await upstream.close();
});

const cname = (name: string, data: string) => ({ type: 'CNAME', name, ttl: 7, data }) as const;
const a = (name: string, data = '203.0.113.1') => ({ type: 'A', name, ttl: 9, data }) as const;

describe('a reply to a forwarded question', () => {
  it('is relayed as it is when it is about the question alone, but for AA', async () => {
    upstream.respond(`${NAME} A`, {
      isAuthoritative: true,
      answers: [cname(NAME, 'Y.stub.test'), a('y.STUB.test', '192.0.2.1'), a('y.stub.test')],
      authorities: [{ type: 'NS', name: 'stub.test', ttl: 5, data: 'ns.stub.test' }],
      additionals: [a('ns.stub.test', '192.0.2.9')],
    });
    expect(await answers.ask(NAME, 'A')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'ra rd',
      answers: [
        'x.stub.test CNAME Y.stub.test',
        'y.STUB.test A 192.0.2.1',
        'y.stub.test A 203.0.113.1',
      ],
      authorities: ['stub.test NS ns.stub.test'],
      additionals: ['ns.stub.test A 192.0.2.9'],
    });
  });

  it.each([
    ['A', [`${OWN} A 10.0.0.1`], []],
    ['AAAA', [], [SOA]],
  ])('ends in the own zone with what the zone has of type %s', async (type, own, soa) => {
    upstream.respond(`${NAME} ${type}`, {
      rcode: 'NXDOMAIN',
      isAuthoritative: true,
      answers: [cname(NAME, OWN), a(OWN), { ...a(OWN), type: 'AAAA', data: '2001:db8::1' }],
    });
    expect(await answers.ask(NAME, type)).toMatchObject({
      rcode: 'NOERROR',
      flags: 'ra rd',
      answers: [`${NAME} CNAME ${OWN}`, ...own],
      authorities: soa,
    });
  });

  it('is NXDOMAIN where it leads to a name that the own zone does not have', async () => {
    upstream.respond(`${NAME} A`, { answers: [cname(NAME, `no.${OWN}`), a(`no.${OWN}`)] });
    expect(await answers.ask(NAME, 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: [`${NAME} CNAME no.${OWN}`],
      authorities: [SOA],
    });
  });

  it('ends with the CNAME at an ExternalName, and before the zone is complete', async () => {
    answers.cluster.services.put(serviceObject({ name: 'ext', externalName: 'db.example' }));
    const ext = 'ext.default.svc.cluster.local';
    upstream.respond(`${NAME} A`, { answers: [cname(NAME, ext), a(ext)] });
    const onlyCname = { rcode: 'NOERROR', authorities: [] };
    expect(await answers.ask(NAME, 'A')).toMatchObject({
      ...onlyCname,
      answers: [`${NAME} CNAME ${ext}`],
    });
    upstream.respond(`${NAME} A`, { answers: [cname(NAME, OWN), a(OWN)] });
    answers.isSynced = false;
    expect(await answers.ask(NAME, 'A')).toMatchObject({
      ...onlyCname,
      answers: [`${NAME} CNAME ${OWN}`],
    });
  });

  it('says nothing about the addresses of the cluster', async () => {
    const reverse = '1.0.0.10.in-addr.arpa';
    const forged = { type: 'PTR', name: reverse, ttl: 9, data: 'evil.test' } as const;
    upstream.respond(`${NAME} PTR`, { answers: [cname(NAME, reverse), forged] });
    expect((await answers.ask(NAME, 'PTR')).answers).toEqual([
      `${NAME} CNAME ${reverse}`,
      `${reverse} PTR ${OWN}`,
    ]);
  });

  it.each([
    ['PTR', ['9.0.0.10.in-addr.arpa PTR late.default.svc.cluster.local'], []],
    ['A', [], ['9.0.0.10.in-addr.arpa SOA ns.dns.cluster.local hostmaster.cluster.local 5']],
  ])(
    'is that of the cluster where a service got the address meanwhile, for type %s',
    async (type, records, authorities) => {
      const { script } = upstream;
      upstream.script = () => null;
      const answered = answers.ask('9.0.0.10.in-addr.arpa', type);
      await until('the question', () => upstream.asked.length > 0);
      answers.cluster.services.put(serviceObject({ name: 'late', clusterIPs: ['10.0.0.9'] }));
      upstream.script = script;
      // The question is sent again.
      answers.wait(1_000);
      expect(await answered).toMatchObject({
        rcode: 'NOERROR',
        flags: 'ra rd',
        answers: records,
        authorities,
      });
    },
  );

  it.each<[string, ReplyRecord[], string[]]>([
    ['beside the answer', [a('bank.test'), a(NAME, '192.0.2.1')], [`${NAME} A 192.0.2.1`]],
    [
      'of a chain from elsewhere',
      [a(NAME), cname('bank.test', 'evil.test'), a('evil.test')],
      [`${NAME} A 203.0.113.1`],
    ],
    ['of the own zone', [a(NAME), a(OWN)], [`${NAME} A 203.0.113.1`]],
    ['alone', [a('bank.test')], []],
  ])('has no record %s that the question does not lead to', async (_where, records, left) => {
    upstream.respond(`${NAME} A`, { answers: records });
    expect((await answers.ask(NAME, 'A')).answers).toEqual(left);
  });

  it('has nothing of the own zone in the authority and the additional section', async () => {
    const data = { mname: 'ns.evil.test', rname: 'admin.evil.test', minimum: 77 };
    upstream.respond(`${NAME} A`, {
      answers: [a(NAME)],
      authorities: [{ type: 'NS', name: 'cluster.local', ttl: 5, data: 'ns.evil.test' }],
    });
    upstream.respond(`${NAME} MX`, {
      answers: [{ type: 'MX', name: NAME, ttl: 5, data: { preference: 1, exchange: OWN } }],
      additionals: [a(OWN)],
    });
    upstream.respond(`${NAME} AAAA`, {
      rcode: 'NXDOMAIN',
      authorities: [{ type: 'SOA', name: 'cluster.local', ttl: 60, data }],
    });
    const nothing = { authorities: [], additionals: [] };
    expect(await answers.ask(NAME, 'A')).toMatchObject({
      ...nothing,
      answers: [`${NAME} A 203.0.113.1`],
    });
    expect(await answers.ask(NAME, 'MX')).toMatchObject({
      ...nothing,
      answers: [`${NAME} MX 1 ${OWN}`],
    });
    expect(await answers.ask(NAME, 'AAAA')).toMatchObject({ ...nothing, rcode: 'NXDOMAIN' });
  });

  it.each(['CNAME', 'ANY'])(
    'may name a name of the own zone to a question for %s',
    async (type) => {
      upstream.respond(`${NAME} ${type}`, { answers: [cname(NAME, OWN), a(OWN)] });
      expect(await answers.ask(NAME, type)).toMatchObject({
        rcode: 'NOERROR',
        answers: [`${NAME} CNAME ${OWN}`],
        authorities: [],
      });
    },
  );

  it.each(['SERVFAIL', 'REFUSED', 'NOTIMP'] as const)(
    'that is %s has no records, and no AA',
    async (rcode) => {
      upstream.respond(`${NAME} A`, {
        rcode,
        isAuthoritative: true,
        answers: [cname(NAME, OWN), a(OWN)],
        additionals: [a(OWN)],
      });
      expect(await answers.ask(NAME, 'A')).toMatchObject({
        rcode,
        flags: 'ra rd',
        answers: [],
        additionals: [],
      });
    },
  );
});

describe('a reply about a name above a host that is answered here', () => {
  const SOA_OF_SERVER = {
    type: 'SOA',
    name: 'test',
    ttl: 60,
    data: { mname: 'ns.test', rname: 'admin.test', minimum: 77 },
  } as const;
  const DENIAL = { rcode: 'NXDOMAIN', authorities: [SOA_OF_SERVER] } as const;
  const NO_DATA = { rcode: 'NOERROR', flags: 'ra rd', answers: [] };
  const ABOVE = ['hosts.test', 'test', '2.0.192.in-addr.arpa'];

  beforeEach(() => {
    const others = new StaticHosts({
      zone: new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 }),
      ttlSeconds: 30,
      negativeTtlSeconds: 5,
      changes: { isObserved: false, takesNames: false, add: () => undefined },
    });
    const text = '192.0.2.1 good.hosts.test';
    atOnce(others.applying(parseDnsConfig(new Map([['hosts', text]])).hosts));
    answers.close();
    answers = new Answers({ others, search: { domain: 'ap.k8s.io' } });
    answers.forwardTo(upstream.hostPort);
  });

  // RFC 8020: NXDOMAIN says that there is nothing below.
  it.each(ABOVE)('is no NXDOMAIN, with the SOA of the server: %s', async (name) => {
    for (const type of ['A', 'TXT', 'PTR', 'ANY']) {
      upstream.respond(`${name} ${type}`, { ...DENIAL, isAuthoritative: true });
      const answer = await answers.ask(name, type);
      expect(answer).toMatchObject(NO_DATA);
      const isBelowSoa = name.endsWith('test');
      expect(answer.authorities).toEqual(isBelowSoa ? ['test SOA ns.test admin.test 77'] : []);
    }
  });

  it('stays NXDOMAIN beside and below it', async () => {
    for (const name of ['other.test', 'x.good.hosts.test']) {
      upstream.respond(`${name} A`, DENIAL);
      expect(await answers.ask(name, 'A')).toMatchObject({ rcode: 'NXDOMAIN' });
    }
  });

  it('stays as it is where it has records, or an error', async () => {
    upstream.respond('hosts.test A', { answers: [a('hosts.test')] });
    upstream.respond('hosts.test AAAA', { rcode: 'SERVFAIL' });
    const { rcode, answers: records } = await answers.ask('hosts.test', 'A');
    expect([rcode, ...records]).toEqual(['NOERROR', 'hosts.test A 203.0.113.1']);
    expect(await answers.ask('hosts.test', 'AAAA')).toMatchObject({ rcode: 'SERVFAIL' });
  });

  it('is none either where a CNAME leads there', async () => {
    const denied = { ...DENIAL, answers: [cname(NAME, 'hosts.test')] };
    upstream.respond(`${NAME} A`, denied);
    expect(await answers.ask(NAME, 'A')).toMatchObject({
      ...NO_DATA,
      answers: [`${NAME} CNAME hosts.test`],
    });
    upstream.respond('hosts.test A', DENIAL);
    answers.cluster.services.put(serviceObject({ name: 'ext', externalName: 'hosts.test' }));
    expect(await answers.ask('ext.default.svc.cluster.local', 'A')).toMatchObject({
      rcode: 'NOERROR',
      answers: ['ext.default.svc.cluster.local CNAME hosts.test'],
    });
  });

  it('ends the search of a search name: it exists', async () => {
    upstream.respond('hosts.test A', DENIAL);
    const name = 'hosts.test.search.default.cluster.local.ap.k8s.io';
    expect(await answers.ask(name, 'A')).toMatchObject({
      rcode: 'NOERROR',
      answers: [`${name} CNAME hosts.test`],
    });
  });
});
