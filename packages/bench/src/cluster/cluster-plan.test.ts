import { describe, expect, it } from '@jest/globals';
import { ClusterPlan, type ClusterSize } from './cluster-plan.js';

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
