import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer, type Manifest } from '@kube-dns/apiserver';
import { needsPrograms, outputOf, unless, untilEqual } from '@kube-dns/testkit';
import {
  containersOf,
  type Deployment,
  findObject,
  type HttpProbe,
  MANIFESTS,
  type PolicyRule,
  render,
  STOCK_OBJECTS,
} from '@kube-dns/testkit/manifests';
import { accessesOf, Authorizer } from './support/authorizer.js';
import { DeployedPod } from './support/deployed-pod.js';

const withoutKubectl = needsPrograms('kubectl');

const ENDPOINTS: Manifest = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 'db', namespace: 'default' },
  subsets: [{ addresses: [{ ip: '10.244.1.9' }], ports: [{ name: 'sql', port: 5432 }] }],
};

/** Probes run every 5 s, the first one after up to 5 s. */
const READY_MS = 45_000;

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
];

const stock = findObject(STOCK_OBJECTS, 'Deployment', 'kube-dns');
const base = withoutKubectl === undefined ? render(join(MANIFESTS, 'kube-dns')) : STOCK_OBJECTS;
const ours = findObject(base, 'Deployment', 'kube-dns');

/** The lines of releases before 1.24, which logged and probed in another way. */
function asBefore124(deployment: Deployment): Deployment {
  const text = JSON.stringify(deployment)
    .replaceAll('"-v=2"', '"-v=2","-logtostderr"')
    .replaceAll('"--v=2","--probe', '"--v=2","--logtostderr","--probe')
    .replaceAll(',5,SRV"', ',5,A"');
  return JSON.parse(text) as Deployment;
}

let server: ApiServer;

beforeAll(async () => {
  server = await createApiServer();
  await server.apply([...CLUSTER, ENDPOINTS]);
});
afterAll(() => server.close());

describe.each([
  { what: 'manifests/kube-dns', deployment: ours, reason: withoutKubectl },
  { what: 'the manifest of the original', deployment: stock, reason: undefined },
  {
    what: 'the manifest of releases before 1.24',
    deployment: asBefore124(stock),
    reason: undefined,
  },
])('the pod of $what', ({ deployment, reason }) => {
  const run = unless(reason, it);
  const runWithDig = unless(reason ?? needsPrograms('dig'), it);
  const pod = new DeployedPod(deployment);
  const probes = containersOf(deployment).flatMap(({ name, livenessProbe, readinessProbe }) =>
    [
      { name, kind: 'liveness', probe: livenessProbe },
      { name, kind: 'readiness', probe: readinessProbe },
    ].flatMap(({ probe, ...rest }) => (probe === undefined ? [] : [{ ...rest, probe }])),
  );

  const statusOf = ({ httpGet }: HttpProbe) => pod.status(httpGet.port, httpGet.path);
  const dig = (manifestPort: number, ...words: string[]) =>
    outputOf('dig', ['@127.0.0.1', '-p', String(pod.portFor(manifestPort)), '+short', ...words]);

  beforeAll(async () => {
    if (reason !== undefined) return;
    await pod.start(server.url);
    for (const { probe } of probes)
      await untilEqual(200, () => statusOf(probe), { limitMs: READY_MS });
  }, 2 * READY_MS);
  afterAll(() => pod.close());

  run.each(probes)('passes the $kind probe of $name', async ({ probe }) => {
    expect(await statusOf(probe)).toBe(200);
  });

  run('takes every argument, and goes on running', () => {
    expect(pod.log).not.toMatch(/unknown|not used|unsupported|usage/i);
    expect(pod.hasEnded).toBe(false);
  });

  runWithDig('answers on the ports that it names, over UDP and TCP', async () => {
    for (const port of [53, 10053]) {
      for (const protocol of ['+notcp', '+tcp']) {
        expect(await dig(port, protocol, 'web.default.svc.cluster.local')).toBe('10.96.7.7');
      }
    }
  });

  runWithDig('takes the configuration from the mounted ConfigMap', async () => {
    expect(await dig(53, 'www.example.com')).toBe('192.0.2.1');
  });

  run('serves metrics on the port for them', async () => {
    expect(await pod.text(10054, '/metrics')).toMatch(/^kubedns_dnsmasq_hits \d+$/m);
    expect(await pod.text(10055, '/metrics')).toMatch(/^skydns_skydns_dns_request_count_total\{/m);
  });
});

describe('kubedns under the rules of the ClusterRole', () => {
  const run = unless(needsPrograms('kubectl', 'dig'), it);
  const rules = () => findObject(base, 'ClusterRole', 'kube-dns').rules;

  interface Findings {
    readonly asked: ReadonlySet<string>;
    readonly denied: ReadonlySet<string>;
    /** What a headless service has for addresses. */
    readonly headless: string;
  }

  /** Runs kubedns behind an API server that enforces these rules, until it is ready and watches. */
  async function runUnder(granted: readonly PolicyRule[]): Promise<Findings> {
    const authorizer = await Authorizer.start(server.url, granted);
    const pod = new DeployedPod(ours);
    try {
      await pod.start(authorizer.url, { only: ['kubedns'] });
      await untilEqual(200, () => pod.status(8081, '/readiness'), { limitMs: READY_MS });
      const words = ['+short', 'db.default.svc.cluster.local'];
      const headless = await outputOf('dig', [
        '@127.0.0.1',
        '-p',
        String(pod.portFor(10053)),
        ...words,
      ]);
      // A watch starts after its list.
      const { asked, denied } = authorizer;
      const hasWatches = () =>
        ['services', 'namespaces'].every((name) => asked.has(`watch /${name}`)) &&
        ['discovery.k8s.io/endpointslices', '/endpoints'].some(
          (name) => asked.has(`watch ${name}`) && !denied.has(`watch ${name}`),
        );
      await untilEqual(true, () => Promise.resolve(hasWatches()), { limitMs: READY_MS });
      return { asked, denied, headless };
    } finally {
      await pod.close();
      await authorizer.close();
    }
  }

  run(
    'is denied nothing and needs every rule, those for Endpoints where slices are denied',
    async () => {
      const withoutSlices = rules().filter(({ apiGroups }) => apiGroups.includes(''));
      const whole = await runUnder(rules());
      const fallback = await runUnder(withoutSlices);
      expect([...whole.denied]).toEqual([]);
      expect(whole.headless).toBe('10.244.1.9');
      expect(fallback.headless).toBe('10.244.1.9');
      expect([...fallback.denied].every((access) => access.endsWith('endpointslices'))).toBe(true);
      expect(fallback.denied.size).toBeGreaterThan(0);
      const needed = new Set([...whole.asked, ...fallback.asked]);
      expect([...needed].sort()).toEqual(accessesOf(rules()).sort());
    },
    2 * READY_MS,
  );
});
