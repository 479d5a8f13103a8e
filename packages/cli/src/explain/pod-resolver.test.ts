import { describe, expect, it } from '@jest/globals';
import { assumedResolver, podResolver } from './pod-resolver.js';

function resolverOf(spec: object) {
  const pod = {
    metadata: { name: 'app', namespace: 'shop' },
    spec: { containers: [], ...spec },
    status: { podIP: '10.244.1.9' },
  };
  const { searches, ndots, address } = podResolver(
    JSON.parse(JSON.stringify(pod)) as never,
    'c.local',
  );
  return { searches, ndots, address };
}

const CLUSTER = ['shop.svc.c.local', 'svc.c.local', 'c.local'];

describe('the resolver of a pod', () => {
  it('has the domains of the cluster and ndots 5 with ClusterFirst, and its dnsConfig after these', () => {
    const address = '10.244.1.9';
    expect(resolverOf({})).toEqual({ searches: CLUSTER, ndots: 5, address });
    const dnsConfig = { searches: ['corp.'], options: [{ name: 'ndots', value: '1' }] };
    expect(resolverOf({ dnsConfig })).toEqual({
      searches: [...CLUSTER, 'corp'],
      ndots: 1,
      address,
    });
    expect(assumedResolver('shop', 'c.local')).toMatchObject({ searches: CLUSTER, ndots: 5 });
  });

  it('has none of these with Default, None, and ClusterFirst on the host’s network', () => {
    for (const spec of [{ dnsPolicy: 'Default' }, { dnsPolicy: 'None' }, { hostNetwork: true }])
      expect(resolverOf(spec)).toMatchObject({ searches: [], ndots: 1 });
    const onHost = { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true };
    expect(resolverOf(onHost)).toMatchObject({ searches: CLUSTER, ndots: 5 });
  });
});
