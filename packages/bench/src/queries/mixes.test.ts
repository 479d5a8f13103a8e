import { describe, expect, it } from '@jest/globals';
import { ClusterPlan } from '../cluster/cluster-plan.js';
import { askedServices, mixesOf } from './mixes.js';

const PLAN = new ClusterPlan({ services: 100, slices: 0, endpointsPerSlice: 1, headless: 0.1 });

describe('the mixes', () => {
  it('ask for services with an address, no more than wanted', () => {
    const services = askedServices(PLAN, 20);
    expect(services).toHaveLength(20);
    expect(services.filter((i) => PLAN.isHeadless(i))).toEqual([]);
    expect(askedServices(PLAN, 500)).toHaveLength(90);
  });

  it('ask for each service once, in another order', () => {
    const services = askedServices(PLAN, 90);
    for (const { lines } of mixesOf(PLAN, services)) {
      expect(new Set(lines).size).toBe(90);
      expect(lines).not.toEqual([...lines].sort());
    }
  });

  it('ask for addresses, ports, reverse names and names that do not exist', () => {
    expect(mixesOf(PLAN, [7]).map(({ lines }) => lines[0])).toEqual([
      'web-00007.team-000.svc.cluster.local A',
      '_http._tcp.web-00007.team-000.svc.cluster.local SRV',
      '7.2.96.10.in-addr.arpa PTR',
      'no-7.team-000.svc.cluster.local A',
    ]);
  });
});
