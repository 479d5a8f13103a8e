import { expect, it } from '@jest/globals';
import { ClusterPlan, serviceAddress } from '../cluster/cluster-plan.js';
import { zoneText } from './zone.js';

it('the zone has the address of each service and the SRV record of its port', () => {
  const plan = new ClusterPlan({ services: 2, slices: 2, endpointsPerSlice: 1, headless: 0 });
  const lines = zoneText(plan, [0, 1]).split('\n');
  expect(lines.slice(0, 5)).toEqual([
    '$ORIGIN cluster.local.',
    '$TTL 30',
    '@ SOA ns.dns hostmaster 1 7200 1800 86400 30',
    '@ NS ns.dns',
    'ns.dns A 127.0.0.1',
  ]);
  expect(lines.slice(5)).toEqual([
    `web-00000.team-000.svc.cluster.local. A ${serviceAddress(0)}`,
    '_http._tcp.web-00000.team-000.svc.cluster.local. SRV 0 100 80 web-00000.team-000.svc.cluster.local.',
    `web-00001.team-000.svc.cluster.local. A ${serviceAddress(1)}`,
    '_http._tcp.web-00001.team-000.svc.cluster.local. SRV 0 100 80 web-00001.team-000.svc.cluster.local.',
    '',
  ]);
});
