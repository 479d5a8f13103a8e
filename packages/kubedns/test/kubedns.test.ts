import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, ScriptedNameServer, until } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { serviceObject, SHOP } from './support/objects.js';

const ZONE = 'shop.svc.cluster.local';

let api: ApiServer;
let upstream: ScriptedNameServer;
beforeAll(async () => {
  api = await createApiServer();
  await api.apply(SHOP);
  upstream = await ScriptedNameServer.start();
});
afterAll(async () => {
  await upstream.close();
  await api.close();
});

describe('the program', () => {
  let kubedns: KubednsProcess;
  beforeAll(async () => {
    kubedns = await startKubedns(api, upstream).ready();
  });
  afterAll(() => endPrograms());

  it('answers over UDP and over TCP', async () => {
    for (const isOverTcp of [false, true]) {
      expect(await kubedns.ask(`_sql._tcp.db.${ZONE}`, 'SRV', { isOverTcp })).toMatchObject({
        rcode: 'NOERROR',
        flags: 'aa ra rd',
      });
      expect(await kubedns.ask(`no.${ZONE}`, 'A', { isOverTcp })).toMatchObject({
        rcode: 'NXDOMAIN',
        authorities: ['cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local 5'],
      });
    }
  });

  it('answers a name outside the cluster from the name server that --nameservers names', async () => {
    upstream.respond('example.com A', {
      answers: [{ type: 'A', name: 'example.com', ttl: 77, data: '192.0.2.1' }],
    });
    for (const isOverTcp of [false, true]) {
      expect(await kubedns.ask('Example.com', 'A', { isOverTcp })).toMatchObject({
        flags: 'ra rd',
        question: 'Example.com A',
        ttls: [77],
      });
    }
    expect((await kubedns.ask('9.9.9.9.in-addr.arpa', 'PTR')).rcode).toBe('NXDOMAIN');
    expect(upstream.asked).toContain('9.9.9.9.in-addr.arpa PTR');
  });

  it('serves what is added and what is removed', async () => {
    const clusterIPs = ['10.96.0.30'];
    await api.apply(
      serviceObject({ namespace: 'shop', name: 'new', clusterIPs, ports: [{ port: 80 }] }),
    );
    const becomes = (name: string, rcode: string) =>
      until(`${name} ${rcode}`, async () => (await kubedns.ask(name, 'A')).rcode === rcode);
    await becomes(`new.${ZONE}`, 'NOERROR');
    expect((await kubedns.ask('30.0.96.10.in-addr.arpa', 'PTR')).answers).toHaveLength(1);
    api.delete('Service', 'shop', 'new');
    await becomes(`new.${ZONE}`, 'NXDOMAIN');
    api.delete('EndpointSlice', 'shop', 'db-1');
    await becomes(`db.${ZONE}`, 'NXDOMAIN');
  });
});

describe('a program of its own', () => {
  afterEach(() => endPrograms());

  it('answers SERVFAIL and is not ready until the cluster is listed, then answers with its records', async () => {
    api.hang();
    const kubedns = startKubedns(api, upstream);
    expect(await kubedns.ask(`web.${ZONE}`, 'A', { hasEdns: true })).toMatchObject({
      rcode: 'SERVFAIL',
      answers: [],
      extendedError: EXTENDED_ERROR.NOT_READY,
    });
    expect(await kubedns.get('/readiness')).toEqual([503, 'not ready\n']);
    api.unhang();
    await until('ready', async () => (await kubedns.get('/readiness'))[0] === 200);
    expect(await kubedns.get('/readiness')).toEqual([200, 'ok\n']);
    expect(await kubedns.get('/nothing')).toEqual([404, '404 page not found\n']);
    expect((await kubedns.ask(`web.${ZONE}`, 'A')).answers).toEqual([`web.${ZONE} A 10.96.0.20`]);
  });

  it('serves the zone of --domain', async () => {
    const kubedns = await startKubedns(api, upstream, ['--domain=corp.example']).ready();
    expect((await kubedns.ask('web.shop.svc.corp.example', 'A')).answers).toHaveLength(1);
    expect((await kubedns.ask(`web.${ZONE}`, 'A')).rcode).toBe('NXDOMAIN');
    expect(upstream.asked).toContain(`web.${ZONE} A`);
  });

  it('continues to answer, and stays ready, while the API server is away', async () => {
    const kubedns = await startKubedns(api, upstream).ready();
    await until('ready', async () => (await kubedns.get('/readiness'))[0] === 200);
    await api.close();
    await kubedns.waitForLine(/W.* \/api\/v1\/services: .*next try in/);
    expect((await kubedns.ask(`web.${ZONE}`, 'A')).answers).toHaveLength(1);
    expect(await kubedns.get('/readiness')).toEqual([200, 'ok\n']);
  });
});
