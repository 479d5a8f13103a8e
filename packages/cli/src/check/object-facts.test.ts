import { expect, it } from '@jest/globals';
import { ClusterObjects } from './cluster-objects.js';
import { factsOfObjects } from './object-facts.js';

const DENIED = 'you may not list them';

it.each([
  ['PodDisruptionBudget', ['withoutBudget']],
  ['Deployment', ['workloads', 'withoutBudget', 'zones', 'hiddenNamespaces']],
  ['pod template', ['resolvers']],
] as const)('facts that need a %s are not seen without the right to list them', (kind, names) => {
  const missing = (each: string) => (each === kind ? DENIED : undefined);
  const { values, unseen } = factsOfObjects(new ClusterObjects('kube-system'), missing);
  for (const name of names) {
    expect(unseen[name]).toBe(DENIED);
    expect(values).not.toHaveProperty(name);
  }
});

it.each([
  [DENIED, DENIED],
  [undefined, 'no ConfigMap of the DNS is there'],
])('a ConfigMap that could not be listed is not one that is not there: %p', (reason, says) => {
  const { unseen } = factsOfObjects(new ClusterObjects('kube-system'), (kind) =>
    kind === 'ConfigMap' ? reason : undefined,
  );
  expect(unseen.configs).toBe(says);
});

it('what is known of a DNS Service is not seen where there is none', () => {
  const { values, unseen } = factsOfObjects(new ClusterObjects('kube-system'), () => undefined);
  expect(unseen.dnsService).toBe('there is no DNS Service');
  expect(values).toMatchObject({ dnsServices: [], workloads: [] });
});

it('a stub domain whose server is nearly an address is a mistake', () => {
  const objects = new ClusterObjects('kube-system');
  const data = { stubDomains: '{"acme.test": ["10.0.0.300", "10.0.0.3:53", "ns.acme.org"]}' };
  objects.add('ConfigMap', { metadata: { name: 'kube-dns', namespace: 'kube-system' }, data });
  const { values } = factsOfObjects(objects, () => undefined);
  expect(values.configs).toEqual([
    {
      from: 'ConfigMap kube-dns',
      mistakes: ['stubDomains acme.test: 10.0.0.300 is no address'],
    },
  ]);
});
