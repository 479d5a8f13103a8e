import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ScriptedNameServer } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { Answers, type AnswersOptions } from '../../test/support/answers.js';
import {
  HEADLESS,
  importObject,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';

const BASE = 'cluster.local.ap.k8s.io';
const SHOP = `search.shop.${BASE}`;
const ZONE = 'svc.cluster.local';
const SOA = 'ap.k8s.io SOA ns.dns.ap.k8s.io hostmaster.ap.k8s.io 5';
const TYPES = ['A', 'AAAA', 'SRV', 'TXT', 'MX', 'CNAME', 'ANY'];

let upstream: ScriptedNameServer;
let answers: Answers;

function start(options: AnswersOptions = {}, extra: readonly string[] = []): void {
  answers = new Answers({ ...options, search: { domain: 'ap.k8s.io.', extra } });
  answers.forwardTo(upstream.hostPort);
  for (const name of ['shop', 'default']) {
    answers.cluster.namespaces.put(namespaceObject(name));
    answers.cluster.services.put(
      serviceObject({ namespace: name, clusterIPs: ['10.0.0.7', 'fd00::7'] }),
    );
  }
}

beforeEach(async () => {
  upstream = await ScriptedNameServer.start();
  upstream.respond('example.com A', {
    answers: [{ type: 'A', name: 'example.com', ttl: 60, data: '192.0.2.1' }],
  });
  for (const type of TYPES.slice(1)) upstream.respond(`example.com ${type}`, {});
});
afterEach(async () => {
  answers.close();
  await upstream.close();
});

/** The targets of the CNAMEs of an answer, or else its rcode. */
async function targets(name: string, type = 'A'): Promise<string> {
  const { answers: records, rcode } = await answers.ask(name, type);
  const found = records.flatMap((text) => / CNAME (.*)$/.exec(text)?.[1] ?? []);
  return found.length === 0 ? rcode : found.join(' ');
}

describe('a search name', () => {
  it('is a CNAME of the first name that exists, with its records', async () => {
    start();
    expect(await answers.ask(`Web.${SHOP}`, 'A')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: [`Web.${SHOP} CNAME web.shop.${ZONE}`, `web.shop.${ZONE} A 10.0.0.7`],
      ttls: [30, 30],
    });
    expect(await targets(`web.default.${SHOP}`)).toBe(`web.default.${ZONE}`);
    expect(await targets(`web.default.svc.${SHOP}`)).toBe(`web.default.${ZONE}`);
    expect(await targets(`web.default.${ZONE}.${SHOP}`)).toBe(`web.default.${ZONE}`);
    expect(await targets(`10-0-0-9.shop.pod.${SHOP}`)).toBe('10-0-0-9.shop.pod.cluster.local');
    expect(upstream.asked).toEqual([]);
  });

  it('has the same CNAME for every type, also where that has no such record', async () => {
    start();
    for (const [name, target] of [
      [`web.${SHOP}`, `web.shop.${ZONE}`],
      [`example.com.${SHOP}`, 'example.com'],
    ] as const) {
      for (const type of TYPES) expect(await targets(name, type)).toBe(target);
    }
    const { answers: records, authorities } = await answers.ask(`web.${SHOP}`, 'TXT');
    expect(records).toHaveLength(1);
    expect(authorities).toHaveLength(1);
  });

  it('has SRV records of the port that is asked for', async () => {
    start();
    const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
    answers.cluster.services.put(serviceObject({ namespace: 'shop', name: 'api', ports }));
    const name = `_http._tcp.api.${SHOP}`;
    expect((await answers.ask(name, 'SRV')).answers[1]).toMatch(
      `_http._tcp.api.shop.${ZONE} SRV 10 100 80 api.shop.${ZONE}`,
    );
  });

  it('of the world is asked upstream, and its CNAME is good for as long as a denial', async () => {
    start();
    expect(await answers.ask(`example.com.${SHOP}`, 'A')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: [`example.com.${SHOP} CNAME example.com`, 'example.com A 192.0.2.1'],
      ttls: [5, 60],
    });
    expect(upstream.asked).toEqual(['example.com A']);
  });

  it('of which no name exists is NXDOMAIN with the SOA of the zone', async () => {
    start();
    upstream.respond('no.example.com A', { rcode: 'NXDOMAIN' });
    expect(await answers.ask(`no.example.com.${SHOP}`, 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: [],
      authorities: [SOA],
      ttls: [5],
    });
    // Nothing but the cluster is asked for its own names.
    expect(await answers.ask(`no.shop.${ZONE}.${SHOP}`, 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      authorities: [SOA],
    });
    expect(upstream.asked).toEqual(['no.example.com A']);
  });

  it('leads on where its target is a CNAME, also to a name that does not exist', async () => {
    start();
    const { services } = answers.cluster;
    services.put(serviceObject({ namespace: 'shop', name: 'out', externalName: 'example.com' }));
    services.put(
      serviceObject({ namespace: 'shop', name: 'gone', externalName: 'no.example.com' }),
    );
    upstream.respond('no.example.com A', { rcode: 'NXDOMAIN' });
    upstream.respond('alias.example.com A', {
      rcode: 'NXDOMAIN',
      answers: [{ type: 'CNAME', name: 'alias.example.com', ttl: 9, data: 'no.example.com' }],
    });
    expect(await targets(`out.${SHOP}`)).toBe(`out.shop.${ZONE} example.com`);
    expect(await answers.ask(`gone.${SHOP}`, 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: [`gone.${SHOP} CNAME gone.shop.${ZONE}`, `gone.shop.${ZONE} CNAME no.example.com`],
    });
    // The name itself exists: it is a CNAME (RFC 6604).
    expect(await targets(`alias.example.com.${SHOP}`)).toBe('alias.example.com no.example.com');
  });

  it('is looked up in further domains before the world', async () => {
    start({}, ['corp.example', 'lab.example']);
    for (const domain of ['corp.example', 'lab.example']) {
      upstream.respond(`example.com.${domain} A`, { rcode: 'NXDOMAIN' });
      upstream.respond(`db.${domain} A`, { rcode: 'NXDOMAIN' });
      upstream.respond(`db.${domain} AAAA`, { rcode: 'NXDOMAIN' });
    }
    upstream.respond('db.lab.example A', {
      answers: [{ type: 'A', name: 'db.lab.example', ttl: 60, data: '192.0.2.2' }],
    });
    upstream.respond('db.lab.example AAAA', {});
    expect((await answers.ask(`db.${SHOP}`, 'A')).answers).toEqual([
      `db.${SHOP} CNAME db.lab.example`,
      'db.lab.example A 192.0.2.2',
    ]);
    expect(await targets(`db.${SHOP}`, 'AAAA')).toBe('db.lab.example');
    expect(await targets(`example.com.${SHOP}`)).toBe('example.com');
    expect(upstream.asked).toEqual([
      'db.corp.example A',
      'db.lab.example A',
      'db.corp.example AAAA',
      'db.lab.example AAAA',
      'example.com.corp.example A',
      'example.com.lab.example A',
      'example.com A',
    ]);
  });

  it('is SERVFAIL without a CNAME where a server that knows gives no answer: no later name is tried', async () => {
    start({}, ['corp.example']);
    upstream.respond('example.com.corp.example A', { rcode: 'SERVFAIL' });
    expect(await answers.ask(`example.com.${SHOP}`, 'A')).toMatchObject({
      rcode: 'SERVFAIL',
      answers: [],
    });
    answers.forwardTo();
    expect(await answers.ask(`other.example.com.${SHOP}`, 'A')).toMatchObject({
      rcode: 'SERVFAIL',
      answers: [],
    });
  });

  it('may be a name that is answered from elsewhere in the cluster', async () => {
    start({ clusterset: 'clusterset.local.' });
    answers.cluster.serviceImports.put(importObject({ namespace: 'shop' }));
    const name = 'web.shop.svc.clusterset.local';
    expect(await targets(`${name}.${SHOP}`)).toBe(name);
    expect(await targets(`no.shop.svc.clusterset.local.${SHOP}`)).toBe('NXDOMAIN');
    answers.areImportsSynced = false;
    expect(await targets(`${name}.${SHOP}`)).toBe(name);
    expect((await answers.ask(`${name}.${SHOP}`, 'A')).rcode).toBe('SERVFAIL');
    expect(upstream.asked).toEqual([]);
  });

  it('is looked up once: a name of the zone in it does not exist', async () => {
    start();
    expect(await targets(`web.${SHOP}.${SHOP}`)).toBe('NXDOMAIN');
    expect(upstream.asked).toEqual([]);
  });

  it('may be the target of an ExternalName', async () => {
    start();
    const { services } = answers.cluster;
    services.put(serviceObject({ name: 'ext', externalName: `web.${SHOP}` }));
    const name = `ext.default.${ZONE}`;
    expect(await targets(name)).toBe(`web.${SHOP} web.shop.${ZONE}`);
    upstream.respond('nil.example.com A', { rcode: 'NXDOMAIN' });
    services.put(serviceObject({ name: 'ext', externalName: `nil.example.com.${SHOP}` }));
    expect(await answers.ask(name, 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: [`${name} CNAME nil.example.com.${SHOP}`],
      authorities: [SOA],
    });
  });

  it('follows the cluster as it is now, and never differs between types', async () => {
    start();
    const { services } = answers.cluster;
    for (const type of ['A', 'AAAA']) upstream.respond(`db ${type}`, { rcode: 'NXDOMAIN' });
    const state = async () => [await targets(`db.${SHOP}`), await targets(`db.${SHOP}`, 'AAAA')];
    const db = serviceObject({ namespace: 'shop', name: 'db', ...HEADLESS });
    services.put(db);
    // A headless service without an endpoint has no name.
    expect(await state()).toEqual(['NXDOMAIN', 'NXDOMAIN']);
    answers.cluster.endpointSlices.put(
      sliceObject({ namespace: 'shop', name: 'db-1', service: 'db', endpoints: ['10.1.0.1'] }),
    );
    expect(await state()).toEqual([`db.shop.${ZONE}`, `db.shop.${ZONE}`]);
    services.delete(db);
    expect(await state()).toEqual(['NXDOMAIN', 'NXDOMAIN']);
  });

  it('is SERVFAIL before the cluster is known', async () => {
    start();
    answers.isSynced = false;
    expect(await answers.ask(`web.${SHOP}`, 'A', { hasEdns: true })).toMatchObject({
      rcode: 'SERVFAIL',
      extendedError: EXTENDED_ERROR.NOT_READY,
    });
  });

  it('that a snapshot does not have is no NXDOMAIN', async () => {
    start({ isFromSnapshot: () => true });
    upstream.respond('new A', { rcode: 'NXDOMAIN' });
    expect(await targets(`web.${SHOP}`)).toBe(`web.shop.${ZONE}`);
    expect(await targets(`example.com.${SHOP}`)).toBe('example.com');
    expect(await answers.ask(`new.${SHOP}`, 'A', { hasEdns: true })).toMatchObject({
      rcode: 'SERVFAIL',
      extendedError: EXTENDED_ERROR.NOT_READY,
    });
  });

  it('is answered whatever its length', async () => {
    start({}, [`${'d'.repeat(63)}.${'e'.repeat(63)}.example`]);
    const name = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(50)}`;
    upstream.respond(`${name} A`, { rcode: 'NXDOMAIN' });
    expect(await targets(`${name}.${SHOP}`)).toBe('NXDOMAIN');
    // Below the further domain it would be longer than a name may be.
    expect(upstream.asked).toEqual([`${name} A`]);
  });
});

describe('the zone of search names', () => {
  it('has an SOA, a name server with addresses, and names between them', async () => {
    start({ ownAddresses: [Uint8Array.of(10, 0, 0, 53)] });
    expect((await answers.ask('ap.k8s.io', 'NS')).answers).toEqual([
      'ap.k8s.io NS ns.dns.ap.k8s.io',
    ]);
    expect((await answers.ask('ap.k8s.io', 'SOA')).answers).toEqual([SOA]);
    expect((await answers.ask('ns.dns.ap.k8s.io', 'A')).answers).toEqual([
      'ns.dns.ap.k8s.io A 10.0.0.53',
    ]);
    for (const name of ['ap.k8s.io', 'dns.ap.k8s.io', 'local.ap.k8s.io', BASE, `shop.${BASE}`]) {
      expect(await answers.ask(name, 'A')).toMatchObject({ rcode: 'NOERROR', answers: [] });
    }
    expect(await targets(SHOP)).toBe('NOERROR');
  });

  it.each([
    'x.ap.k8s.io',
    `x.dns.ap.k8s.io`,
    `web.find.shop.${BASE}`,
    `web.search._a.${BASE}`,
    'web.search.shop.other.local.ap.k8s.io',
  ])('does not have %s', async (name) => {
    start();
    expect(await answers.ask(name, 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      authorities: [SOA],
    });
    expect(upstream.asked).toEqual([]);
  });
});
