import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import type { ApiServer } from '../src/index.js';
import {
  closeAll,
  CONFIG_MAPS,
  configMap,
  get,
  send,
  service,
  startServer,
  textOf,
  TestWatch,
} from './harness.js';

let server: ApiServer;

beforeEach(async () => {
  server = await startServer();
});
afterEach(closeAll);

const KUBE_SYSTEM = '/api/v1/namespaces/kube-system';

function watch(query: string, path = CONFIG_MAPS): Promise<TestWatch> {
  return TestWatch.open(server, `${path}?watch=1&${query}`);
}

describe('a server that is restarted', () => {
  it('breaks watches, and continues them with what it has', async () => {
    await server.apply(configMap('a'));
    const from = `resourceVersion=${server.resourceVersion}`;
    const before = await watch(from);
    const restarted = server.restart();
    await expect(before.next()).rejects.toThrow();
    server.delete('ConfigMap', 'default', 'a');
    await restarted;
    expect(await (await watch(from)).names(1)).toEqual(['DELETED a']);
  });

  it('refuses connections for the time that was asked for', async () => {
    await server.restart({ downMs: 1 });
    expect((await get(server, CONFIG_MAPS)).status).toBe(200);
    const restarted = server.restart({ downMs: 600_000 });
    await expect(get(server, CONFIG_MAPS)).rejects.toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    });
    await server.close();
    await restarted;
  });

  it('answers watches from before with 410 when its history is gone', async () => {
    const from = `resourceVersion=${server.resourceVersion}`;
    await server.apply(configMap('a'));
    const now = `resourceVersion=${server.resourceVersion}`;
    await server.restart({ hasHistory: false });
    expect(await (await watch(from)).next()).toMatchObject({
      type: 'ERROR',
      object: { code: 410 },
    });
    const events = await watch(now);
    await server.apply(configMap('b'));
    expect(await events.names(1)).toEqual(['ADDED b']);
  });

  it('refuses as many watches as was asked for while its watch cache is not filled', async () => {
    await server.restart({ refusedWatches: 2 });
    for (let i = 0; i < 2; i++) {
      const { status, headers, body } = await get(server, `${CONFIG_MAPS}?watch=1`);
      expect([status, headers.get('retry-after')]).toEqual([429, '1']);
      expect(body).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'storage is (re)initializing',
        reason: 'TooManyRequests',
        details: { retryAfterSeconds: 1 },
        code: 429,
      });
    }
    expect((await watch('')).status).toBe(200);
  });

  it('has nothing but what a new cluster has when it is emptied', async () => {
    const first = server.resourceVersion;
    const { uid } = (await get(server, KUBE_SYSTEM)).body.metadata!;
    await server.apply([configMap('a'), service('web')]);
    await server.restart({ data: 'empty' });
    expect(server.resourceVersion).toBe(first);
    expect(server.list('ConfigMap')).toEqual([]);
    expect((await get(server, KUBE_SYSTEM)).body.metadata?.uid).not.toBe(uid);
    await server.apply(service('other'));
    expect(server.get('Service', 'default', 'other')?.spec.clusterIP).toBe('10.96.1.1');
  });

  it('has the objects and the version of its backup when that is restored', async () => {
    const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }];
    const endpoints = {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'web', namespace: 'default' },
    };
    await server.apply([configMap('a'), service('web'), { ...endpoints, subsets }]);
    const before = await get(server, '/api/v1/namespaces/default/services');
    server.backup();
    await server.apply([configMap('a', { x: '1' }), configMap('b')]);
    server.delete('Service', 'default', 'web');
    await server.restart({ data: 'backup' });
    expect((await get(server, '/api/v1/namespaces/default/services')).body).toEqual(before.body);
    expect(server.list('ConfigMap').map(({ metadata }) => metadata.name)).toEqual(['a']);
    expect(server.get('ConfigMap', 'default', 'a')).not.toHaveProperty('data.x');
    // Addresses stay allocated, and mirrored slices are still those of their Endpoints.
    await server.apply(service('other'));
    expect(server.get('Service', 'default', 'other')?.spec.clusterIP).toBe('10.96.1.2');
    server.delete('Endpoints', 'default', 'web');
    expect(server.list('EndpointSlice').map(({ metadata }) => metadata.name)).toEqual([
      'kubernetes',
    ]);
  });

  it('lets a watch from a version of before wait in silence for later ones', async () => {
    await server.apply([configMap('a'), configMap('b')]);
    const { resourceVersion } = server;
    await server.restart({ data: 'empty' });
    const events = await watch(`resourceVersion=${resourceVersion}&allowWatchBookmarks=true`);
    expect(events.status).toBe(200);
    await server.apply([configMap('c'), configMap('d'), configMap('e')]);
    expect(await events.names(1)).toEqual(['ADDED e']);
  });

  it('does not begin again when it is closed meanwhile', async () => {
    const restarted = server.restart({ downMs: 600_000 });
    await server.close();
    await restarted;
    await expect(get(server, CONFIG_MAPS)).rejects.toThrow();
  });

  it('answers a request for this over HTTP before it breaks the connection', async () => {
    await server.apply(configMap('a'));
    const options = { downMs: 20, data: 'empty', hasHistory: true, refusedWatches: 1 };
    expect((await send(server, 'POST', '/_test/restart', options)).status).toBe(200);
    const isBack = () => get(server, CONFIG_MAPS).catch(() => undefined);
    await until('the end of the restart', isBack);
    expect(server.list('ConfigMap')).toEqual([]);
    expect((await get(server, `${CONFIG_MAPS}?watch=1`)).status).toBe(429);
  });

  it('restores a backup over HTTP, where there is one', async () => {
    const restart = () => send(server, 'POST', '/_test/restart', { data: 'backup' });
    expect((await restart()).status).toBe(400);
    expect((await send(server, 'POST', '/_test/backup')).status).toBe(200);
    await server.apply(configMap('a'));
    expect((await restart()).status).toBe(200);
    await until('the end of the restart', () => server.list('ConfigMap').length === 0);
  });
});

describe('a new server', () => {
  it('has versions from 1, and replays all that happened since', async () => {
    const events = await watch('resourceVersion=1', '/api/v1/namespaces');
    const { object } = (await events.next())!;
    expect([textOf(object.metadata?.name), textOf(object.metadata?.resourceVersion)]).toEqual([
      'default',
      '2',
    ]);
  });

  it('has no history of the objects that it began with', async () => {
    server = await startServer({ seed: (objects) => objects.put(configMap('a')) });
    expect(await (await watch('resourceVersion=1')).next()).toMatchObject({
      type: 'ERROR',
      object: { code: 410 },
    });
  });
});

describe('bookmarks that are rare', () => {
  const watchNow = () =>
    watch(`resourceVersion=${server.resourceVersion}&allowWatchBookmarks=true`);

  it('are sent only after a change', async () => {
    server = await startServer({ bookmarkIntervalMs: 10 });
    server.setBookmarks('rare');
    const events = await watchNow();
    await server.apply(service('web'));
    await server.apply(configMap('a'));
    const { resourceVersion } = server;
    await server.apply(service('web', { ports: [{ port: 81 }] }));
    expect(await events.names(1)).toEqual(['ADDED a']);
    expect(await events.next()).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion } },
    });
  });

  it('are switched over HTTP, too', async () => {
    server = await startServer({ bookmarkIntervalMs: 10 });
    const set = (bookmarks: string) => send(server, 'POST', '/_test/set-bookmarks', { bookmarks });
    expect((await set('never')).status).toBe(400);
    expect((await set('rare')).status).toBe(200);
    const rare = await watchNow();
    expect((await set('usual')).status).toBe(200);
    // It began later: when it has a bookmark, the first one would have had its own.
    expect((await (await watchNow()).next())?.type).toBe('BOOKMARK');
    await server.apply(configMap('a'));
    expect(await rare.names(1)).toEqual(['ADDED a']);
  });
});
