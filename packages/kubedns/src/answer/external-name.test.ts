import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ReplyRecord, ScriptedNameServer } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { Answers } from '../../test/support/answers.js';
import { namespaceObject, serviceObject } from '../../test/support/objects.js';
import { UPSTREAM_DEADLINE_MS } from './kubedns-answerer.js';

const ZONE = 'default.svc.cluster.local';
const EXT = `ext.${ZONE}`;
const SOA = 'cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local 5';

let upstream: ScriptedNameServer;
let answers: Answers;
beforeEach(async () => {
  upstream = await ScriptedNameServer.start();
  answers = new Answers({ maxInFlight: 1 });
  answers.forwardTo(upstream.hostPort);
});
afterEach(async () => {
  answers.close();
  await upstream.close();
});

function alias(name: string, externalName: string): void {
  answers.cluster.services.put(serviceObject({ name, externalName }));
}

describe('an ExternalName outside of the cluster', () => {
  beforeEach(() => alias('ext', 'db.example.com'));

  it('is followed by the records of the name server, CNAMEs included', async () => {
    upstream.respond('db.example.com A', {
      answers: [
        { type: 'CNAME', name: 'db.example.com', ttl: 7, data: 'db.example.net' },
        { type: 'A', name: 'db.example.net', ttl: 9, data: '192.0.2.1' },
        { type: 'A', name: 'db.example.net', ttl: 9, data: '192.0.2.2' },
        { type: 'TXT', name: 'db.example.net', ttl: 9, data: 'unasked' },
      ],
    });
    expect(await answers.ask('EXT.default.svc.cluster.local', 'A')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      question: 'EXT.default.svc.cluster.local A',
      answers: [
        'EXT.default.svc.cluster.local CNAME db.example.com',
        'db.example.com CNAME db.example.net',
        'db.example.net A 192.0.2.1',
        'db.example.net A 192.0.2.2',
      ],
      authorities: [],
      ttls: [30, 7, 9, 9],
    });
  });

  it.each([
    ['no records', {}],
    ['no name', { rcode: 'NXDOMAIN' }],
    ['a CNAME', { answers: [{ type: 'CNAME', name: 'db.example.com', ttl: 7, data: 'db.net' }] }],
    ['a refusal', { rcode: 'REFUSED' }],
    [
      'AA',
      {
        isAuthoritative: true,
        answers: [{ type: 'A', name: 'db.example.com', ttl: 7, data: '192.0.2.1' }],
      },
    ],
  ] as const)(
    'has AA, which is about the first owner name, with %s at its target',
    async (_what, reply) => {
      upstream.respond('db.example.com A', reply);
      for (const name of [EXT, 'ext.*.svc.cluster.local']) {
        const answer = await answers.ask(name, 'A');
        expect(answer.answers[0]).toMatch(/ CNAME db.example.com$/);
        expect(answer.flags).toBe('aa ra rd');
      }
    },
  );

  it('has no record of the reply that the chain does not lead to', async () => {
    upstream.respond('db.example.com A', {
      answers: [
        { type: 'A', name: 'bank.example.org', ttl: 9, data: '203.0.113.1' },
        { type: 'A', name: 'db.example.net', ttl: 9, data: '192.0.2.1' },
        { type: 'CNAME', name: 'bank.example.org', ttl: 9, data: 'evil.example.org' },
        { type: 'CNAME', name: 'db.example.com', ttl: 7, data: 'DB.example.net' },
        { type: 'A', name: 'db.example.com', ttl: 9, data: '203.0.113.2' },
      ],
    });
    expect((await answers.ask(EXT, 'A')).answers).toEqual([
      `${EXT} CNAME db.example.com`,
      'db.example.com CNAME DB.example.net',
      'DB.example.net A 192.0.2.1',
    ]);
  });

  it('has the zone’s own records where a reply leads back to it, whatever the reply says', async () => {
    const own = `web.${ZONE}`;
    answers.cluster.services.put(serviceObject());
    upstream.respond('db.example.com A', {
      rcode: 'NXDOMAIN',
      answers: [
        { type: 'CNAME', name: 'db.example.com', ttl: 7, data: own },
        { type: 'A', name: own, ttl: 9, data: '203.0.113.1' },
      ],
    });
    expect(await answers.ask(EXT, 'A')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: [`${EXT} CNAME db.example.com`, `db.example.com CNAME ${own}`, `${own} A 10.0.0.1`],
    });
  });

  it('is SERVFAIL where a reply leads back to an ExternalName', async () => {
    upstream.respond('db.example.com A', {
      answers: [{ type: 'CNAME', name: 'db.example.com', ttl: 7, data: EXT }],
    });
    expect(await answers.ask(EXT, 'A', { hasEdns: true })).toMatchObject({
      rcode: 'SERVFAIL',
      extendedError: EXTENDED_ERROR.OTHER,
      reason: 'CNAME back to one of the cluster',
    });
  });

  it('has no SOA of the own zone or of a name elsewhere from a reply', async () => {
    const data = { mname: 'ns.example.com', rname: 'admin.example.com', minimum: 77 };
    for (const name of ['cluster.local', 'example.org']) {
      upstream.respond('db.example.com AAAA', {
        authorities: [{ type: 'SOA', name, ttl: 60, data }],
      });
      expect((await answers.ask(EXT, 'AAAA')).authorities).toEqual([]);
    }
  });

  it('has OPT in a deferred answer, for a client that sent one', async () => {
    upstream.respond('db.example.com A', {});
    expect((await answers.ask(EXT, 'A', { hasEdns: true })).hasOpt).toBe(true);
    expect((await answers.ask(EXT, 'A')).hasOpt).toBe(false);
  });

  it.each([
    ['MX', { preference: 5, exchange: 'mx.example.com' }, '5 mx.example.com'],
    ['SRV', { priority: 1, weight: 2, port: 3, target: 'a.example.com' }, '1 2 3 a.example.com'],
    ['NS', 'ns.example.com', 'ns.example.com'],
    ['TXT', ['a', 'b'], 'a|b'],
    ['AAAA', '2001:db8::1', '2001:db8::1'],
  ] as const)('is followed for %s as well', async (type, data, text) => {
    const record = { type, name: 'db.example.com', ttl: 1, data } as ReplyRecord;
    upstream.respond(`db.example.com ${type}`, { answers: [record] });
    expect((await answers.ask(EXT, type)).answers).toEqual([
      `${EXT} CNAME db.example.com`,
      `db.example.com ${type} ${text}`,
    ]);
  });

  it('has the SOA of the negative answer when the target has no record of the type', async () => {
    const soa = {
      type: 'SOA',
      name: 'example.com',
      ttl: 60,
      data: { mname: 'ns.example.com', rname: 'admin.example.com', minimum: 77 },
    } as const;
    upstream.respond('db.example.com AAAA', { authorities: [soa] });
    expect(await answers.ask(EXT, 'AAAA')).toMatchObject({
      rcode: 'NOERROR',
      answers: [`${EXT} CNAME db.example.com`],
      authorities: ['example.com SOA ns.example.com admin.example.com 77'],
    });
  });

  it('is NXDOMAIN with the CNAME when the target does not exist', async () => {
    expect(await answers.ask(EXT, 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      flags: 'aa ra rd',
      answers: [`${EXT} CNAME db.example.com`],
    });
    expect(upstream.asked).toEqual(['db.example.com A']);
  });

  it('is SERVFAIL with the CNAME when the name server fails', async () => {
    upstream.respond('db.example.com A', { rcode: 'SERVFAIL' });
    expect(await answers.ask(EXT, 'A')).toMatchObject({
      rcode: 'SERVFAIL',
      answers: [`${EXT} CNAME db.example.com`],
    });
  });

  it('is SERVFAIL with the CNAME and a reason when the name server is silent', async () => {
    upstream.script = () => null;
    const asked = answers.ask(EXT, 'A', { hasEdns: true });
    answers.wait(UPSTREAM_DEADLINE_MS);
    expect(await asked).toMatchObject({
      rcode: 'SERVFAIL',
      answers: [`${EXT} CNAME db.example.com`],
      extendedError: EXTENDED_ERROR.NETWORK_ERROR,
    });
  });

  it('is SERVFAIL with the CNAME immediately when there is no name server', async () => {
    answers.servers = [];
    expect(await answers.ask(EXT, 'A')).toMatchObject({
      rcode: 'SERVFAIL',
      answers: [`${EXT} CNAME db.example.com`],
    });
  });

  it('is SERVFAIL with the CNAME immediately when too many questions are in flight', async () => {
    upstream.script = () => null;
    const first = answers.ask(EXT, 'A');
    expect(await answers.ask(EXT, 'AAAA')).toMatchObject({
      rcode: 'SERVFAIL',
      answers: [`${EXT} CNAME db.example.com`],
    });
    answers.wait(UPSTREAM_DEADLINE_MS);
    await first;
    expect(upstream.asked).not.toContain('db.example.com AAAA');
  });

  it('is not followed for CNAME and ANY', async () => {
    for (const type of ['CNAME', 'ANY']) {
      expect(await answers.ask(EXT, type)).toMatchObject({
        rcode: 'NOERROR',
        answers: [`${EXT} CNAME db.example.com`],
        authorities: [],
      });
    }
    expect(upstream.asked).toEqual([]);
  });

  it('is not followed for a transfer', async () => {
    expect((await answers.ask(EXT, 'AXFR')).rcode).toBe('REFUSED');
    expect(upstream.asked).toEqual([]);
  });

  it('is asked for and shown as the service spells it', async () => {
    alias('ext', 'DB.Example.COM.');
    expect((await answers.ask(EXT, 'A')).answers).toEqual([`${EXT} CNAME DB.Example.COM`]);
    expect(upstream.asked).toEqual(['DB.Example.COM A']);
  });
});

it('attack 14: a chain of CNAMEs that grows with each reply costs one question, whatever its length', async () => {
  alias('ext', 'c0.example.com');
  const links = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      type: 'CNAME' as const,
      name: `c${i}.example.com`,
      ttl: 9,
      data: `c${i + 1}.example.com`,
    }));
  for (const [count, name] of [
    [1, EXT],
    [100, EXT],
    [100, 'c0.example.com'],
  ] as const) {
    upstream.script = () => ({ answers: links(count) });
    const before = upstream.asked.length;
    expect((await answers.ask(name, 'A')).answers.length).toBeLessThanOrEqual(17);
    expect(upstream.asked.length - before).toBe(1);
  }
});

describe('an ExternalName inside of the cluster', () => {
  beforeEach(() => {
    answers.cluster.services.put(serviceObject());
    answers.cluster.namespaces.put(namespaceObject('default'));
    answers.cluster.zone.hasAllNamespaces = true;
  });
  afterEach(() => expect(upstream.asked).toEqual([]));

  it('is followed by the records of its target', async () => {
    alias('ext', `Web.${ZONE}`);
    expect(await answers.ask(EXT, 'A')).toMatchObject({
      rcode: 'NOERROR',
      answers: [`${EXT} CNAME Web.${ZONE}`, `Web.${ZONE} A 10.0.0.1`],
      ttls: [30, 30],
    });
  });

  it('is followed link by link', async () => {
    alias('ext', `two.${ZONE}`);
    alias('two', `web.${ZONE}`);
    expect((await answers.ask(EXT, 'A')).answers).toEqual([
      `${EXT} CNAME two.${ZONE}`,
      `two.${ZONE} CNAME web.${ZONE}`,
      `web.${ZONE} A 10.0.0.1`,
    ]);
  });

  it('may lead to the name of a pod', async () => {
    alias('ext', '1-2-3-4.default.pod.cluster.local');
    expect((await answers.ask(EXT, 'A')).answers).toEqual([
      `${EXT} CNAME 1-2-3-4.default.pod.cluster.local`,
      '1-2-3-4.default.pod.cluster.local A 1.2.3.4',
    ]);
  });

  it('is NXDOMAIN with the CNAME and the SOA when its target does not exist', async () => {
    alias('ext', `no.${ZONE}`);
    expect(await answers.ask(EXT, 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: [`${EXT} CNAME no.${ZONE}`],
      authorities: [SOA],
      ttls: [30, 5],
    });
  });

  it('is NODATA with the CNAME and the SOA when its target has nothing of the type', async () => {
    alias('ext', `web.${ZONE}`);
    expect(await answers.ask(EXT, 'AAAA')).toMatchObject({
      rcode: 'NOERROR',
      answers: [`${EXT} CNAME web.${ZONE}`],
      authorities: [SOA],
    });
  });

  it('is followed for eight links and no further', async () => {
    for (let i = 1; i <= 8; i++) alias(`a${i}`, i === 8 ? `web.${ZONE}` : `a${i + 1}.${ZONE}`);
    const eight = await answers.ask(`a1.${ZONE}`, 'A');
    expect(eight.rcode).toBe('NOERROR');
    expect(eight.answers).toHaveLength(9);
    alias('a0', `a1.${ZONE}`);
    const nine = await answers.ask(`a0.${ZONE}`, 'A', { hasEdns: true });
    expect(nine).toMatchObject({ rcode: 'SERVFAIL', reason: 'too many CNAMEs' });
    expect(nine.answers).toHaveLength(8);
  });

  it.each([
    ['itself', [['ext', 'ext']]],
    [
      'another and back',
      [
        ['ext', 'two'],
        ['two', 'ext'],
      ],
    ],
  ])('is SERVFAIL when it leads to %s', async (_what, links) => {
    for (const [from, to] of links) alias(from!, `${to}.${ZONE}`);
    expect(await answers.ask(EXT, 'A', { hasEdns: true })).toMatchObject({
      rcode: 'SERVFAIL',
      extendedError: EXTENDED_ERROR.OTHER,
      reason: 'CNAME loop',
      // Each link once: an answer holds no record twice (RFC 2181 section 5).
      answers: links.map(([from, to]) => `${from!}.${ZONE} CNAME ${to!}.${ZONE}`),
    });
  });
});
