import { describe, expect, it } from '@jest/globals';
import { assumedResolver, decidingOutcome, muslNote, podResolver, searchPath } from './resolver.js';

const CLUSTER = {
  searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
  ndots: 5,
};

describe('the search path', () => {
  it('tries the search domains first for a name with fewer dots than ndots', () => {
    expect(searchPath('web.data', CLUSTER)).toEqual({
      reason: 'searched',
      candidates: [
        'web.data.shop.svc.cluster.local.',
        'web.data.svc.cluster.local.',
        'web.data.cluster.local.',
        'web.data.',
      ],
    });
  });

  it('tries a name with enough dots as it is first, and one with a final dot as it is alone', () => {
    const { reason, candidates } = searchPath('a.b.c', { ...CLUSTER, ndots: 2 });
    expect([reason, candidates[0], candidates.length]).toEqual(['enough-dots', 'a.b.c.', 4]);
    expect(searchPath('web.', CLUSTER)).toEqual({ reason: 'absolute', candidates: ['web.'] });
    expect(searchPath('web', { searches: [], ndots: 1 }).reason).toBe('no-searches');
  });

  it('leaves out names that are too long', () => {
    const name = `${'a'.repeat(63)}.`.repeat(3) + 'a'.repeat(50);
    expect(searchPath(name, CLUSTER).candidates).toEqual([`${name}.`]);
  });
});

describe('what decides', () => {
  it('is an answer, else an empty one, else a failure, else the last name', () => {
    expect(decidingOutcome(['no-name', 'no-data', 'answered'])).toBe(2);
    expect(decidingOutcome(['no-name', 'failed', 'no-data', 'no-name'])).toBe(2);
    expect(decidingOutcome(['no-name', 'failed', 'no-name'])).toBe(1);
    expect(decidingOutcome(['no-name', 'no-name'])).toBe(1);
  });

  it('is another with musl after an empty answer or a failure, and for a name with enough dots', () => {
    const path = searchPath('web', CLUSTER);
    expect(muslNote(path, ['no-data', 'answered'])).toBe(
      'musl (Alpine) ends the lookup at web.shop.svc.cluster.local. because of an empty answer; glibc goes on',
    );
    expect(muslNote(path, ['failed', 'answered'])).toMatch(/because of a failure/);
    expect(muslNote(path, ['no-name', 'answered'])).toBeUndefined();
    const dotted = searchPath('a.b', { ...CLUSTER, ndots: 1 });
    expect(muslNote(dotted, ['no-name', 'answered'])).toMatch(/there the lookup ends with a\.b\./);
  });
});

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

const SEARCHES = ['shop.svc.c.local', 'svc.c.local', 'c.local'];

describe('the resolver of a pod', () => {
  it('has the domains of the cluster and ndots 5 with ClusterFirst, and its dnsConfig after these', () => {
    const address = '10.244.1.9';
    expect(resolverOf({})).toEqual({ searches: SEARCHES, ndots: 5, address });
    const dnsConfig = { searches: ['corp.'], options: [{ name: 'ndots', value: '1' }] };
    expect(resolverOf({ dnsConfig })).toEqual({
      searches: [...SEARCHES, 'corp'],
      ndots: 1,
      address,
    });
    expect(assumedResolver('shop', 'c.local')).toMatchObject({ searches: SEARCHES, ndots: 5 });
  });

  it('has none of these with Default, None, and ClusterFirst on the host’s network', () => {
    for (const spec of [{ dnsPolicy: 'Default' }, { dnsPolicy: 'None' }, { hostNetwork: true }])
      expect(resolverOf(spec)).toMatchObject({ searches: [], ndots: 1 });
    const onHost = { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true };
    expect(resolverOf(onHost)).toMatchObject({ searches: SEARCHES, ndots: 5 });
  });
});
