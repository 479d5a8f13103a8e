import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer, type Manifest } from '@kube-dns/apiserver';
import { untilEqual } from '@kube-dns/testkit';
import {
  containersOf,
  type Deployment,
  findObject,
  type HttpProbe,
  type PolicyRule,
  STOCK_OBJECTS,
} from '@kube-dns/testkit/manifests';
import { accessesOf, Authorizer } from './support/authorizer.js';
import { BASE_DEPLOYMENT, BASE_OBJECTS } from './support/base-deployment.js';
import { DeployedPod } from './support/deployed-pod.js';

const CLUSTER: readonly Manifest[] = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { clusterIP: '10.96.7.7', ports: [{ name: 'http', port: 80 }] },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'db', namespace: 'default' },
    spec: { clusterIP: 'None', ports: [{ name: 'sql', port: 5432 }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'db-1',
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'db' },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.244.1.9'] }],
    ports: [{ name: 'sql', port: 5432 }],
  },
  {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'db', namespace: 'default' },
    subsets: [{ addresses: [{ ip: '10.244.1.9' }], ports: [{ name: 'sql', port: 5432 }] }],
  },
];

const stock = findObject(STOCK_OBJECTS, 'Deployment', 'kube-dns');

/** The lines of releases before 1.24, which logged and probed in another way. */
function asBefore124(deployment: Deployment): Deployment {
  const text = JSON.stringify(deployment)
    .replaceAll('"-v=2"', '"-v=2","-logtostderr"')
    .replaceAll('"--v=2","--probe', '"--v=2","--logtostderr","--probe')
    .replaceAll(',5,SRV"', ',5,A"');
  return JSON.parse(text) as Deployment;
}

const PODS = [
  { what: 'manifests/kube-dns', deployment: BASE_DEPLOYMENT },
  { what: 'the manifest of the original', deployment: stock },
  { what: 'the manifest of releases before 1.24', deployment: asBefore124(stock) },
].map((each) => ({ ...each, pod: new DeployedPod(each.deployment) }));

let server: ApiServer;

beforeAll(async () => {
  server = await createApiServer();
  await server.apply(CLUSTER);
  // At the same time: each waits for the first probe of its sidecar.
  await Promise.all(PODS.map(({ pod }) => pod.start(server.url)));
});
afterAll(async () => {
  await Promise.all(PODS.map(({ pod }) => pod.close()));
  await server.close();
});

describe.each(PODS)('the pod of $what', ({ deployment, pod }) => {
  const probes = containersOf(deployment).flatMap(({ name, livenessProbe, readinessProbe }) =>
    [
      { name, kind: 'liveness', probe: livenessProbe },
      { name, kind: 'readiness', probe: readinessProbe },
    ].flatMap(({ probe, ...rest }) => (probe === undefined ? [] : [{ ...rest, probe }])),
  );
  const passes = ({ httpGet }: HttpProbe) =>
    untilEqual(200, () => pod.status(httpGet.port, httpGet.path));
  const becomesReady = () => Promise.all(probes.map(({ probe }) => passes(probe)));

  it.each(probes)('passes the $kind probe of $name', async ({ probe }) => {
    await passes(probe);
  });

  it('takes every argument, and goes on running', async () => {
    await becomesReady();
    expect(pod.log).not.toMatch(/unknown|(?<!does not reply - )not used|unsupported|usage/i);
    expect(pod.hasEnded).toBe(false);
  });

  it('answers on the ports that it names, over UDP and TCP', async () => {
    await becomesReady();
    for (const port of [53, 10053]) {
      for (const isOverTcp of [false, true]) {
        const web = () => pod.resolve(port, 'web.default.svc.cluster.local', isOverTcp);
        await untilEqual('10.96.7.7', web);
      }
    }
  });

  it('takes the configuration from the mounted ConfigMap', async () => {
    await becomesReady();
    await untilEqual('192.0.2.1', () => pod.resolve(53, 'www.example.com'));
  });

  it('serves metrics on the port for them', async () => {
    await becomesReady();
    expect(await pod.text(10054, '/metrics')).toMatch(/^kubedns_dnsmasq_hits \d+$/m);
    expect(await pod.text(10055, '/metrics')).toMatch(/^skydns_skydns_dns_request_count_total\{/m);
  });
});

describe('kubedns under the rules of the ClusterRole', () => {
  const { rules } = findObject(BASE_OBJECTS, 'ClusterRole', 'kube-dns');

  interface Findings {
    readonly asked: ReadonlySet<string>;
    readonly denied: ReadonlySet<string>;
    /** What a headless service has for addresses. */
    readonly headless: string;
  }

  /** Runs kubedns behind an API server that enforces these rules, until it is ready and watches. */
  async function runUnder(granted: readonly PolicyRule[]): Promise<Findings> {
    const authorizer = await Authorizer.start(server.url, granted);
    const pod = new DeployedPod(BASE_DEPLOYMENT);
    try {
      await pod.start(authorizer.url, { only: ['kubedns'] });
      await untilEqual(200, () => pod.status(8081, '/readiness'));
      const headless = await pod.resolve(10053, 'db.default.svc.cluster.local');
      // A watch starts after its list.
      const { asked, denied } = authorizer;
      const hasWatches = () =>
        ['services', 'namespaces'].every((name) => asked.has(`watch /${name}`)) &&
        ['discovery.k8s.io/endpointslices', '/endpoints'].some(
          (name) => asked.has(`watch ${name}`) && !denied.has(`watch ${name}`),
        );
      await untilEqual(true, hasWatches);
      return { asked, denied, headless };
    } finally {
      await pod.close();
      await authorizer.close();
    }
  }

  it('is denied nothing and needs every rule, those for Endpoints where slices are denied', async () => {
    const withoutSlices = rules.filter(({ apiGroups }) => apiGroups.includes(''));
    const [whole, fallback] = await Promise.all([runUnder(rules), runUnder(withoutSlices)]);
    expect([...whole.denied]).toEqual([]);
    expect(whole.headless).toBe('10.244.1.9');
    expect(fallback.headless).toBe('10.244.1.9');
    expect([...fallback.denied].every((access) => access.endsWith('endpointslices'))).toBe(true);
    expect(fallback.denied.size).toBeGreaterThan(0);
    const needed = new Set([...whole.asked, ...fallback.asked]);
    expect([...needed].sort()).toEqual(accessesOf(rules).sort());
  });
});
