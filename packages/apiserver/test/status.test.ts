import { describe, expect, it } from '@jest/globals';
import { get, send, service, SERVICES, server, startServerForEach } from './harness.js';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const INGRESS = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
const PODS = '/api/v1/namespaces/default/pods';

startServerForEach();

const labels = { app: 'web' };
const selector = { matchLabels: labels };
const containers = [{ name: 'a', image: 'a:1' }];
const template = { metadata: { labels }, spec: { containers } };

/** Path of the collection, kind, specification, two statuses. */
const KINDS: [string, string, string, object, object, object][] = [
  [SERVICES, 'v1', 'Service', { ports: [{ port: 80 }] }, { loadBalancer: {} }, INGRESS],
  ['/api/v1/namespaces', 'v1', 'Namespace', {}, { phase: 'Active' }, { phase: 'Terminating' }],
  ['/api/v1/nodes', 'v1', 'Node', {}, { conditions: [] }, { conditions: [{ type: 'Ready' }] }],
  [PODS, 'v1', 'Pod', { containers }, { phase: 'Pending' }, { phase: 'Running' }],
  ...['Deployment', 'DaemonSet'].map((kind): (typeof KINDS)[number] => [
    `/apis/apps/v1/namespaces/default/${kind.toLowerCase()}s`,
    'apps/v1',
    kind,
    { selector, template },
    { observedGeneration: 1 },
    { observedGeneration: 2 },
  ]),
  [
    '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    'policy/v1',
    'PodDisruptionBudget',
    { selector },
    { expectedPods: 1 },
    { expectedPods: 2 },
  ],
  [
    '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
    'networking.k8s.io/v1',
    'Ingress',
    { rules: [{ host: 'app.example.com' }] },
    { loadBalancer: {} },
    INGRESS,
  ],
  [
    '/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways',
    'gateway.networking.k8s.io/v1',
    'Gateway',
    { gatewayClassName: 'a' },
    { addresses: [] },
    { addresses: [{ value: '192.0.2.1' }] },
  ],
];

describe('/status', () => {
  it.each(KINDS)(
    'of %s is the only place where the status of a stored object is written, and writes no specification',
    async (path, apiVersion, kind, spec, first, second) => {
      const object = { apiVersion, kind, metadata: { name: 'web' }, spec };
      const one = `${path}/web`;
      const created = (await send(server, 'POST', path, object)).body;
      await send(server, 'PUT', `${one}/status`, { ...created, status: first });
      const before = (await get(server, one)).body;
      expect(before.status).toEqual(first);

      await send(server, 'PUT', one, { ...before, status: second });
      await send(server, 'PATCH', one, { status: second }, MERGE);
      expect((await get(server, one)).body.status).toEqual(first);

      const patch = { status: second, spec: { paused: true, x: 1 } };
      const { status, body } = await send(server, 'PATCH', `${one}/status`, patch, MERGE);
      expect([status, body.status, body.spec]).toEqual([200, second, before.spec]);
      expect(body.metadata?.generation).toBe(before.metadata?.generation);
      expect((await get(server, `${one}/status`)).body).toEqual(body);
    },
  );

  it('cannot be set at creation, except for nodes', async () => {
    const web = { ...service('web'), status: INGRESS };
    expect((await send(server, 'POST', SERVICES, web)).body.status).toEqual({ loadBalancer: {} });
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: { x: '1' } };
    expect((await send(server, 'POST', '/api/v1/nodes', node)).body.status).toEqual({ x: '1' });
  });

  it('is part of an object that code of the same process or a manifest writes', async () => {
    await server.apply({ ...service('web'), status: INGRESS });
    expect(server.get('Service', 'default', 'web')?.status).toEqual(INGRESS);
  });

  it('has the versions and errors of its object', async () => {
    await server.apply(service('web'));
    const path = `${SERVICES}/web/status`;
    const stale = service('web', {}, { resourceVersion: '1' });
    expect((await send(server, 'PUT', path, stale)).body.reason).toBe('Conflict');
    expect((await send(server, 'PUT', path, service('other'))).status).toBe(400);
    const missing = await get(server, `${SERVICES}/none/status`);
    expect(missing.body.message).toBe('services "none" not found');
    for (const method of ['POST', 'DELETE']) {
      expect((await send(server, method, path, {})).status).toBe(405);
    }
    expect((await get(server, `${path}/x`)).status).toBe(404);
  });
});
