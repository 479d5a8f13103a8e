import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, ScriptedNameServer, until } from '@kube-dns/testkit';
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
