import { describe, expect, it } from '@jest/globals';
import type { KubeObject, Service } from '../src/index.js';
import { get, service, TestWatch, textOf, server, startServerForEach } from './harness.js';

startServerForEach();

const MANAGED_FIELDS = [{ manager: 'helm', operation: 'Update', fieldsV1: { 'f:spec': {} } }];

/** A service as a control plane stores it. */
function loaded(name: string, clusterIP = '10.96.1.1', place = 'default'): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: place,
      uid: `uid-of-${name}`,
      resourceVersion: '',
      creationTimestamp: '2026-01-02T03:04:05Z',
      managedFields: MANAGED_FIELDS,
    },
    spec: {
      type: 'ClusterIP',
      clusterIP,
      clusterIPs: [clusterIP],
      ipFamilies: ['IPv4'],
      ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 'http' }],
      sessionAffinity: 'None',
    },
    status: { loadBalancer: {} },
  };
}

describe('objects that are loaded', () => {
  it('are served unchanged, under a version of this server', async () => {
    server.objects.load([loaded('web')]);
    const { resourceVersion } = server;
    const { body } = await get(server, '/api/v1/namespaces/default/services/web');
    const expected = loaded('web');
    expect(body).toEqual({ ...expected, metadata: { ...expected.metadata, resourceVersion } });
  });

  it('have their managed fields in lists and in watches', async () => {
    const watch = await TestWatch.open(
      server,
      `/api/v1/services?watch=1&resourceVersion=${server.resourceVersion}`,
    );
    server.objects.load([loaded('web')]);
    expect((await watch.next())?.object.metadata?.managedFields).toEqual(MANAGED_FIELDS);
    const { body } = await get(server, '/api/v1/services?fieldSelector=metadata.name%3Dweb');
    expect(body.items?.[0]?.metadata?.managedFields).toEqual(MANAGED_FIELDS);
  });

  it('replace those of the same name', async () => {
    const watch = await TestWatch.open(
      server,
      `/api/v1/services?watch=1&resourceVersion=${server.resourceVersion}`,
    );
    server.objects.load([loaded('web'), loaded('web', '10.96.1.9')]);
    expect(await watch.names(2)).toEqual(['ADDED web', 'MODIFIED web']);
    expect(server.get('Service', 'default', 'web')?.spec.clusterIP).toBe('10.96.1.9');
  });

  it('have their addresses allocated', async () => {
    server.objects.load([loaded('web', '10.96.1.1')]);
    await server.apply(service('other'));
    expect(server.get('Service', 'default', 'other')?.spec.clusterIP).toBe('10.96.1.2');
    server.delete('Service', 'default', 'web');
    await server.apply(service('third', { clusterIP: '10.96.1.1' }));
    expect(server.get('Service', 'default', 'third')?.spec.clusterIP).toBe('10.96.1.1');
  });

  it('need not be a list in memory', () => {
    const names = ['a', 'b', 'c'];
    function* objects(): Generator<KubeObject> {
      for (const name of names) yield loaded(name, 'None');
    }
    const before = server.objects.count;
    server.objects.load(objects());
    expect(server.objects.count).toBe(before + 3);
  });
});

describe('a list of objects that were listed before', () => {
  const SERVICES = '/api/v1/services';
  const addresses = async (query = '') => {
    const { body } = await get(server, SERVICES + query);
    const items = body.items as unknown as {
      metadata: { name: string };
      spec: { clusterIP: string };
    }[];
    return items.map(({ metadata, spec }) => `${metadata.name} ${spec.clusterIP}`);
  };

  it('shows what has changed since', async () => {
    server.objects.load([loaded('a', '10.96.1.1'), loaded('b', '10.96.1.2')]);
    expect(await addresses()).toEqual(['a 10.96.1.1', 'b 10.96.1.2', 'kubernetes 10.96.0.1']);
    server.objects.load([loaded('b', '10.96.1.7')]);
    server.delete('Service', 'default', 'a');
    expect(await addresses()).toEqual(['b 10.96.1.7', 'kubernetes 10.96.0.1']);
  });

  it('is whole JSON with any number of items and any characters', async () => {
    expect(await addresses('?labelSelector=app%3Dnone')).toEqual([]);
    const text = 'Größe: 1 €, 🙂';
    await server.apply(service('one', {}, { annotations: { text }, labels: { app: 'x' } }));
    const { headers, body } = await get(server, `${SERVICES}?labelSelector=app%3Dx`);
    expect(textOf(body.items?.[0]?.metadata?.annotations?.text)).toBe(text);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
  });

  it('serves objects larger than the memory that small ones share', async () => {
    const large = 'x'.repeat(300_000);
    const object = loaded('large', 'None');
    server.objects.load([{ ...object, metadata: { ...object.metadata, annotations: { large } } }]);
    server.objects.load([loaded('small', 'None')]);
    for (let i = 0; i < 2; i++) {
      const { body } = await get(server, SERVICES);
      const items = body.items as unknown as KubeObject[];
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['kubernetes', 'large', 'small']);
      expect(items[1]?.metadata.annotations?.large).toBe(large);
    }
  });

  it('counts the remaining objects without reading them, and with a selector by matching them', async () => {
    server.objects.load(Array.from({ length: 9 }, (_, i) => loaded(`s${i}`, 'None')));
    const all = await get(server, `${SERVICES}?limit=4`);
    expect(all.body.metadata?.remainingItemCount).toBe(6);
    const own = await get(server, '/api/v1/namespaces/default/services?limit=10');
    expect(own.body.metadata).not.toHaveProperty('continue');
    const some = await get(server, `${SERVICES}?limit=4&fieldSelector=metadata.name!%3Ds0`);
    expect(some.body.metadata?.continue).toBeDefined();
    expect(some.body.items).toHaveLength(4);
  });
});
