import { describe, expect, it } from '@jest/globals';
import { createApiServer, type KubeObject } from '@kube-dns/apiserver';
import { ClusterPlan } from './cluster-plan.js';
import { markerObjects } from './marker.js';
import { serviceObject, sliceObject } from './objects.js';

const PLAN = new ClusterPlan({
  services: 1_000,
  slices: 5_000,
  endpointsPerSlice: 10,
  headless: 0.1,
});

function jsonBytes(object: KubeObject): number {
  return JSON.stringify(object).length;
}

describe('the objects of a cluster', () => {
  it('are as large as those of a control plane', () => {
    expect(jsonBytes(serviceObject(PLAN, 123))).toBeGreaterThan(1_200);
    expect(jsonBytes(serviceObject(PLAN, 123))).toBeLessThan(1_700);
    expect(jsonBytes(sliceObject(PLAN, 3_123))).toBeGreaterThan(3_600);
    expect(jsonBytes(sliceObject(PLAN, 3_123))).toBeLessThan(4_300);
  });

  it('would be accepted by the API server', async () => {
    const server = await createApiServer();
    try {
      await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-000' } });
      await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'zz-bench' } });
      for (const object of [serviceObject(PLAN, 8), sliceObject(PLAN, 8), sliceObject(PLAN, 9)]) {
        await server.apply(object);
      }
      const marker = markerObjects(PLAN, 1).objects.filter(({ kind }) => kind !== 'Service');
      for (const object of marker) await server.apply(object);
      expect(server.get('Service', 'team-000', 'web-00008')?.spec.clusterIP).toBe('10.96.2.8');
    } finally {
      await server.close();
    }
  });

  it('show a change and nothing else', () => {
    const { endpoints, ...rest } = sliceObject(PLAN, 9);
    const changed = sliceObject(PLAN, 9, { firstAddress: '10.1.2.3' });
    expect(changed).toMatchObject(rest);
    expect(changed.endpoints[0]?.addresses).toEqual(['10.1.2.3']);
    expect(changed.endpoints.slice(1)).toEqual(endpoints.slice(1));
  });
});
