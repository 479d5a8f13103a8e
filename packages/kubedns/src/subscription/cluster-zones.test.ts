import { expect, it } from '@jest/globals';
import { encodeKey, RCODE, ROOT_NAME } from '@kube-dns/wire';
import { ClusterZones } from './cluster-zones.js';

const APEX = encodeKey('cluster.local');

it.each([
  ['the zone and all above it', APEX, RCODE.NOERROR],
  ['a name below the zone', encodeKey('svc.cluster.local'), RCODE.NOERROR],
  ['every name', ROOT_NAME, RCODE.NOERROR],
  ['reverse names', encodeKey('10.in-addr.arpa'), RCODE.NOERROR],
  ['a name beside the zone', encodeKey('xcluster.local'), RCODE.NOTAUTH],
])('answers subscriptions to %s as it should', (_, zone, rcode) => {
  expect(new ClusterZones(APEX, () => true).rcodeFor(zone)).toBe(rcode);
});

it('takes none before the cluster is listed', () => {
  const zones = new ClusterZones(APEX, () => false);
  expect([zones.rcodeFor(APEX), zones.rcodeFor(encodeKey('com'))]).toEqual([
    RCODE.SERVFAIL,
    RCODE.NOTAUTH,
  ]);
});
