import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, ScriptedNameServer, STUB_RESOLVERS, StubResolver } from '@kube-dns/testkit';
import { startKubedns } from './support/kubedns-process.js';
import { HEADLESS, namespaceObject, serviceObject, sliceObject } from './support/objects.js';

const ZONE = 'shop.svc.cluster.local';
const MANY = Array.from({ length: 100 }, (_, i) => `10.1.0.${i + 1}`);
const OBJECTS = [
  namespaceObject('shop'),
  serviceObject({ namespace: 'shop', clusterIPs: ['10.96.0.20'], ports: [{ port: 80 }] }),
  serviceObject({ namespace: 'shop', name: 'db', ...HEADLESS }),
  sliceObject({
    namespace: 'shop',
    name: 'db-1',
    service: 'db',
    endpoints: MANY,
    ports: [{ port: 80 }],
  }),
];

let api: ApiServer;
let upstream: ScriptedNameServer;
beforeEach(async () => {
  api = await createApiServer();
  await api.apply(OBJECTS);
  upstream = await ScriptedNameServer.start();
});
afterEach(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

it('every stub resolver has every answer about the zone without a time-out, from replicas with other secrets', async () => {
  const replicas = await Promise.all([1, 2].map(() => startKubedns(api, upstream).ready()));
  const ports = await Promise.all(replicas.map((each) => each.port()));
  for (const name of STUB_RESOLVERS) {
    const resolver = new StubResolver(name, ports);
    for (let round = 0; round < 2; round++) {
      expect(await resolver.lookup(`web.${ZONE}`)).toEqual({
        rcode: 'NOERROR',
        addresses: ['10.96.0.20'],
      });
      const { addresses } = await resolver.lookup(`db.${ZONE}`);
      expect(new Set(addresses)).toEqual(new Set(MANY));
      expect((await resolver.lookup(`no.${ZONE}`)).rcode).toBe('NXDOMAIN');
    }
  }
});
