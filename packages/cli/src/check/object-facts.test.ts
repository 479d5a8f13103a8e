import { describe, expect, it } from '@jest/globals';
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

const NAMESPACE = 'kube-system';
const labels = { 'k8s-app': 'kube-dns' };

/** A DNS Service with one Deployment and one ready endpoint. */
function cluster(targetPort?: number | string): ClusterObjects {
  const objects = new ClusterObjects(NAMESPACE);
  const metadata = { name: 'kube-dns', namespace: NAMESPACE, labels };
  const port = { port: 53, protocol: 'UDP', ...(targetPort !== undefined && { targetPort }) };
  objects.add('Service', { metadata, spec: { clusterIP: '10.96.0.10', selector: labels, ports: [port] } }); // prettier-ignore
  const containers = [{ name: 'dnsmasq', ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' }] }]; // prettier-ignore
  const template = { metadata: { labels }, spec: { containers } };
  objects.add('Deployment', { metadata, spec: { template } });
  const ofService = { labels: { 'kubernetes.io/service-name': 'kube-dns' } };
  objects.add('EndpointSlice', { metadata: { namespace: NAMESPACE, ...ofService }, addressType: 'IPv4', endpoints: [{ addresses: ['10.244.0.2'] }] }); // prettier-ignore
  return objects;
}

it.each([
  [undefined, []],
  [53, []],
  ['dns', []],
  [5353, ['UDP 5353']],
  ['dns-udp', ['UDP dns-udp']],
])('the target port %p of the DNS Service must be one of its pods', (targetPort, closed) => {
  const { values } = factsOfObjects(cluster(targetPort), () => undefined);
  expect(values.dnsService!.closedTargets).toEqual(closed);
});

it('servers that are the DNS Service itself, and hosts of the zone of the cluster, are mistakes', () => {
  const objects = cluster();
  const data = {
    upstreamNameservers: '["10.96.0.10", "9.9.9.9"]',
    stubDomains: '{"acme.test": ["10.96.0.10:53", "10.96.0.10:5353"]}',
    hosts: '10.0.0.1 web.acme.test kubernetes.default.svc.cluster.local',
  };
  objects.add('ConfigMap', { metadata: { name: 'kube-dns', namespace: NAMESPACE }, data });
  const { values } = factsOfObjects(objects, () => undefined);
  expect(values.configs![0]!.mistakes).toEqual([
    'upstreamNameservers: 10.96.0.10 is the DNS Service itself: questions go in a circle',
    'stubDomains acme.test: 10.96.0.10:53 is the DNS Service itself: questions go in a circle',
    'hosts: line 1: kubernetes.default.svc.cluster.local is in the zone of the cluster',
  ]);
});

it.each([
  ['cluster.local', true],
  ['svc.cluster.local', true],
  ['shop.svc.cluster.local', true],
  ['pod.cluster.local', true],
  ['team.cluster.local', false],
  ['local', false],
  ['mycluster.local', false],
])('a stub domain %s is a mistake where it takes names of the cluster: %p', (domain, isTaken) => {
  const objects = cluster();
  const data = { stubDomains: JSON.stringify({ [domain]: ['192.0.2.1'] }) };
  objects.add('ConfigMap', { metadata: { name: 'kube-dns', namespace: NAMESPACE }, data });
  const { mistakes } = factsOfObjects(objects, () => undefined).values.configs![0]!;
  const text = `stubDomains ${domain}: its servers are asked for names of the cluster, which kubedns has`;
  expect(mistakes).toEqual(isTaken ? [text] : []);
});

it('a DNS Service without an address is none', () => {
  const objects = new ClusterObjects(NAMESPACE);
  const metadata = { name: 'kube-dns', namespace: NAMESPACE, labels };
  objects.add('Service', { metadata, spec: { clusterIP: 'None', ports: [{ port: 53 }] } });
  const { values } = factsOfObjects(objects, () => undefined);
  expect(values).toMatchObject({ dnsServices: [], headlessDnsServices: ['kube-dns'] });
});

describe('a policy of other pods', () => {
  const facts = (egress: readonly object[], pods: readonly object[] = []) => {
    const objects = cluster();
    for (const each of pods) objects.add('Pod', { metadata: { name: 'web', namespace: 'shop', labels: each }, spec: {} }); // prettier-ignore
    const spec = { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Egress'], egress };
    objects.add('NetworkPolicy', { metadata: { name: 'egress', namespace: 'shop' }, spec });
    return factsOfObjects(objects, () => undefined).values.policies;
  };
  const to = (cidr: string, ...except: string[]) => [{ to: [{ ipBlock: { cidr, except } }] }];

  it.each([
    ['everywhere', [{}], []],
    ['the pods', to('10.244.0.0/16'), []],
    ['the Service alone', to('10.96.0.0/16'), [{ allowsService: true }]],
    ['all but the pods', to('0.0.0.0/0', '10.244.0.0/16'), [{ allowsService: true }]],
    ['nowhere', [], [{ allowsService: false }]],
  ])('that leads %s', (_, egress, found) => {
    expect(facts(egress)).toMatchObject(found);
    expect(facts(egress)).toHaveLength(found.length);
  });

  it('is no finding where it selects no pod', () => {
    expect(facts([], [{ app: 'api' }])).toEqual([]);
    expect(facts([], [{ app: 'api' }, { app: 'web' }])).toHaveLength(1);
  });
});
