import { describe, expect, it } from '@jest/globals';
import { createApiServer, type KubeObject } from '@kube-dns/apiserver';
import { markerObjects } from './changes.js';
import { ClusterPlan, type ClusterSize, serviceObject, sliceObject } from './cluster-plan.js';

const SIZE: ClusterSize = { services: 1_000, slices: 2_500, endpointsPerSlice: 10, headless: 0.1 };

function services(plan: ClusterPlan): number[] {
  return Array.from({ length: plan.size.services }, (_, i) => i);
}

describe('the plan of a cluster', () => {
  it.each([0, 0.1, 0.5, 1])('has the share %d of headless services', (headless) => {
    const plan = new ClusterPlan({ ...SIZE, headless });
    expect(services(plan).filter((i) => plan.isHeadless(i))).toHaveLength(1_000 * headless);
  });

  it.each([0.1, 1])('gives hostnames to half of the headless services of %d', (headless) => {
    const plan = new ClusterPlan({ ...SIZE, headless });
    expect(services(plan).filter((i) => plan.hasHostnames(i))).toHaveLength(500 * headless);
  });

  it('gives each service its own name', () => {
    const plan = new ClusterPlan(SIZE);
    expect(new Set(services(plan).map((i) => plan.dnsName(i))).size).toBe(1_000);
    expect(plan.dnsName(123)).toBe('web-00123.team-001.svc.cluster.local');
  });

  it('gives the pods of a service different hostnames, across its slices', () => {
    const plan = new ClusterPlan(SIZE);
    const names = [9, 1_009, 2_009].flatMap((slice) =>
      Array.from({ length: 10 }, (_, i) => plan.hostname(slice, i)),
    );
    expect(new Set(names).size).toBe(30);
    expect(names.at(-1)).toBe('web-00009-29');
  });
});

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
