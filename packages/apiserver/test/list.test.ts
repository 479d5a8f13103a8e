import { describe, expect, it } from '@jest/globals';
import {
  CONFIG_MAPS,
  configMap,
  get,
  namespace,
  service,
  type TestJson,
  server,
  startServerForEach,
} from './harness.js';

startServerForEach();

function names(list: TestJson): string[] {
  const items = list.items as unknown as { metadata: { namespace?: string; name: string } }[];
  return items.map(({ metadata }) => metadata.name);
}

async function fill(count: number): Promise<void> {
  const all = Array.from({ length: count }, (_, i) => configMap(`m${String(i).padStart(3, '0')}`));
  await server.apply(all);
}

describe('a list', () => {
  it('has the version of the server and items without type', async () => {
    await server.apply(configMap('a'));
    const { body } = await get(server, CONFIG_MAPS);
    expect(body).toMatchObject({
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      metadata: { resourceVersion: server.resourceVersion },
    });
    expect(body.items?.[0]).not.toHaveProperty('kind');
    expect(body.items?.[0]).not.toHaveProperty('apiVersion');
  });

  it('covers one namespace or all', async () => {
    await server.apply([
      namespace('shop'),
      configMap('a', {}, { namespace: 'shop' }),
      configMap('b'),
    ]);
    expect(names((await get(server, '/api/v1/configmaps')).body)).toEqual(['b', 'a']);
    expect(names((await get(server, CONFIG_MAPS)).body)).toEqual(['b']);
    expect(names((await get(server, '/api/v1/namespaces/none/configmaps')).body)).toEqual([]);
  });

  it.each([
    ['fieldSelector=metadata.name%3Dweb', ['web']],
    ['fieldSelector=metadata.name!%3Dweb,metadata.namespace%3Ddefault', ['ext', 'kubernetes']],
    ['fieldSelector=spec.type%3DExternalName', ['ext']],
    ['fieldSelector=spec.clusterIP%3D10.96.0.1', ['kubernetes']],
    ['labelSelector=app%20in%20(x,y)', ['web']],
    ['labelSelector=!app,!provider', ['ext']],
    ['labelSelector=app%3Dx&fieldSelector=metadata.name%3Dext', []],
  ])('is narrowed by %s', async (query, expected) => {
    await server.apply([
      service('web', {}, { labels: { app: 'x' } }),
      service('ext', { type: 'ExternalName', externalName: 'example.com' }),
    ]);
    expect(names((await get(server, `/api/v1/services?${query}`)).body)).toEqual(expected);
  });

  it('has pages that together show the state at the first page', async () => {
    await fill(25);
    const first = await get(server, `${CONFIG_MAPS}?limit=10`);
    expect(first.body.metadata?.remainingItemCount).toBe(15);
    server.delete('ConfigMap', 'default', 'm015');
    await server.apply(configMap('m015x'));
    const found = names(first.body);
    let token = first.body.metadata?.continue as string | undefined;
    while (token) {
      const page = await get(server, `${CONFIG_MAPS}?limit=10&continue=${token}`);
      expect(page.body.metadata?.resourceVersion).toBe(first.body.metadata?.resourceVersion);
      found.push(...names(page.body));
      token = page.body.metadata?.continue as string | undefined;
    }
    expect(found).toHaveLength(25);
    expect(found).toContain('m015');
    expect(found).not.toContain('m015x');
  });

  it('has pages of the selected objects', async () => {
    await fill(9);
    const first = await get(server, `${CONFIG_MAPS}?limit=5&fieldSelector=metadata.name!%3Dm001`);
    expect(names(first.body)).toEqual(['m000', 'm002', 'm003', 'm004', 'm005']);
    expect(first.body.metadata).not.toHaveProperty('remainingItemCount');
  });

  it('may request a minimum version', async () => {
    const { resourceVersion } = server;
    await server.apply(configMap('a'));
    for (const version of ['0', resourceVersion, server.resourceVersion]) {
      const query = `resourceVersion=${version}&resourceVersionMatch=NotOlderThan`;
      const { body } = await get(server, `${CONFIG_MAPS}?${query}`);
      expect(body.metadata?.resourceVersion).toBe(server.resourceVersion);
    }
  });

  it('may request an exact version, which only the history has', async () => {
    const exact = (version: string) =>
      get(server, `${CONFIG_MAPS}?resourceVersion=${version}&resourceVersionMatch=Exact`);
    await server.apply([configMap('a', { x: '1' }), configMap('b')]);
    const { resourceVersion } = server;
    const before = await exact(resourceVersion);
    await server.apply([configMap('a', { x: '2' }), configMap('c')]);
    server.delete('ConfigMap', 'default', 'b');
    expect((await exact(resourceVersion)).body).toEqual(before.body);
    expect(before.body.metadata?.resourceVersion).toBe(resourceVersion);
    expect(names(before.body)).toEqual(['a', 'b']);
  });
});

describe('discovery', () => {
  it('names the versions, groups and resources', async () => {
    expect((await get(server, '/api')).body.versions).toEqual(['v1']);
    const groups = (await get(server, '/apis')).body.groups as unknown as { name: string }[];
    expect(groups.map(({ name }) => name).sort()).toEqual([
      'apps',
      'discovery.k8s.io',
      'gateway.networking.k8s.io',
      'multicluster.x-k8s.io',
      'networking.k8s.io',
      'policy',
      'rbac.authorization.k8s.io',
    ]);
    const core = (await get(server, '/api/v1')).body.resources as unknown as { name: string }[];
    expect(core.map(({ name }) => name).sort()).toEqual([
      'configmaps',
      'endpoints',
      'namespaces',
      'namespaces/status',
      'nodes',
      'nodes/status',
      'pods',
      'pods/status',
      'serviceaccounts',
      'services',
      'services/status',
    ]);
    const discovery = await get(server, '/apis/discovery.k8s.io/v1');
    expect(discovery.body.resources).toMatchObject([{ name: 'endpointslices', namespaced: true }]);
  });

  it.each(['/healthz', '/livez', '/readyz', '/readyz/'])('answers ok at %s', async (path) => {
    const { status, body } = await get(server, path);
    expect([status, body]).toEqual([200, 'ok']);
  });

  it.each([
    '/version',
    '/openapi/v3',
    '/openapi/v3/api/v1',
    '/apis/discovery.k8s.io',
    '/',
    '/api/',
  ])('answers %s', async (path) => expect((await get(server, path)).status).toBe(200));
});
