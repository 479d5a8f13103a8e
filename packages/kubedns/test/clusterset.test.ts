import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ZoneSubscription } from '@kube-dns/push';
import { endPrograms, freePort, ScriptedNameServer, until } from '@kube-dns/testkit';
import { decodeName, encodeKey } from '@kube-dns/wire';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { importedSliceObject, importObject, SHOP } from './support/objects.js';

const GROUP = 'multicluster.x-k8s.io';
const NAME = 'web.shop.svc.clusterset.local';

let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: KubednsProcess;
beforeAll(async () => {
  api = await createApiServer();
  await api.apply(SHOP);
  api.serveVersions(GROUP, ['v1alpha1']);
  await api.apply(importObject({ namespace: 'shop' }));
  upstream = await ScriptedNameServer.start();
  kubedns = startKubedns(api, upstream, ['--clusterset-domain=clusterset.local']);
  await kubedns.ready();
});
afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

const becomes = (name: string, rcode: string) =>
  until(`${name} ${rcode}`, async () => (await kubedns.ask(name, 'A')).rcode === rcode);

describe('the program with --clusterset-domain', () => {
  it('answers imports of the version that is served, and explains and shows them', async () => {
    await becomes(NAME, 'NOERROR');
    expect((await kubedns.ask(NAME, 'A')).answers).toEqual([`${NAME} A 10.42.0.1`]);
    const [, explained] = await kubedns.get(`/explain?name=${NAME}&type=A`);
    expect(explained).toContain('the imported service web in the namespace shop');
    const [, cache] = await kubedns.get('/cache');
    const { ChildNodes } = JSON.parse(cache) as {
      ChildNodes: Record<string, { ChildNodes: Record<string, unknown> }>;
    };
    expect(Object.keys(ChildNodes.local!.ChildNodes)).toEqual(['cluster', 'clusterset']);
    expect(cache).toContain('10.42.0.1');
  });

  it('announces the names of imports that change, and endpoints of headless ones', async () => {
    const told: string[] = [];
    const subscription = new ZoneSubscription({
      zones: ['cluster.local', 'clusterset.local'].map(encodeKey),
      server: { address: '127.0.0.1', port: await kubedns.port() },
      events: {
        onLive: () => told.push('live'),
        onChanged: (name) => told.push(decodeName(name)),
        onFlush: () => undefined,
        onLost: (reason) => told.push(reason),
        onUnsupported: (reason) => told.push(reason),
      },
    });
    subscription.start();
    await until('live', () => told.length > 0);
    await api.apply(importObject({ namespace: 'shop', ips: ['10.42.0.2'] }));
    await until(`${NAME} is announced`, () => told.includes(NAME));
    expect((await kubedns.ask(NAME, 'A')).answers).toEqual([`${NAME} A 10.42.0.2`]);
    await api.apply(importObject({ namespace: 'shop', name: 'db', type: 'Headless' }));
    const db = 'db.shop.svc.clusterset.local';
    await until(`${db} is announced`, () => told.includes(db));
    told.length = 0;
    const endpoints = [{ addresses: ['10.0.0.1'], hostname: 'db-0' }];
    await api.apply(importedSliceObject({ namespace: 'shop', service: 'db', endpoints }));
    await until(`${db} is announced`, () => told.includes(db));
    expect(new Set(told)).toEqual(new Set([db]));
    subscription.close();
  });

  it('without the rights has one line in the log, a problem on the status page, SERVFAIL, and nothing else', async () => {
    const own = await createApiServer();
    await own.apply(SHOP);
    own.serveVersions(GROUP, ['v1beta1']);
    own.failRequests({ resource: 'serviceimports', status: 403 });
    const port = await freePort();
    const args = ['--clusterset-domain=clusterset.local'];
    const denied = await startKubedns(own, upstream, args, { PROMETHEUS_PORT: `${port}` }).ready();
    await denied.waitForLine(/serviceimports/);
    expect((await denied.ask(NAME, 'A')).rcode).toBe('SERVFAIL');
    expect((await denied.ask('web.shop.svc.cluster.local', 'A')).rcode).toBe('NOERROR');
    expect((await denied.get('/readiness'))[0]).toBe(200);
    const lines = denied.program.stderr
      .split('\n')
      .filter((line) => line.includes('serviceimports'));
    expect(lines).toEqual([expect.stringMatching(/HTTP 403.*; next try in 60 s$/)]);
    const response = await fetch(`http://127.0.0.1:${port}/status`);
    const { problems } = (await response.json()) as { problems: string[] };
    expect(problems).toEqual([
      'access to serviceimports is denied: see the ClusterRole; next try within 60 s',
    ]);
    denied.program.signal('SIGKILL');
    await own.close();
  });

  it('follows imports that are removed with their CRD, and leaves the cluster’s own zone alone', async () => {
    const own = await kubedns.ask('web.shop.svc.cluster.local', 'A');
    const endpoints = [{ addresses: ['10.0.0.1'], hostname: 'db-0' }];
    await api.apply([
      importObject({ namespace: 'shop', type: 'Headless' }),
      importedSliceObject({ namespace: 'shop', cluster: 'c1.east', endpoints }),
    ]);
    await becomes(`db-0.c1.east.${NAME}`, 'NOERROR');
    api.serveVersions(GROUP, []);
    await becomes(NAME, 'NXDOMAIN');
    expect((await kubedns.get('/readiness'))[0]).toBe(200);
    expect(await kubedns.ask('web.shop.svc.cluster.local', 'A')).toEqual(own);
  });
});
