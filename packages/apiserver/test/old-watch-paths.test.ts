import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiServer } from '../src/index.js';
import {
  closeAll,
  configMap,
  get,
  namespace,
  send,
  service,
  startServer,
  TestWatch,
} from './harness.js';

let server: ApiServer;

beforeEach(async () => {
  server = await startServer();
  await server.apply([
    namespace('shop'),
    configMap('a'),
    configMap('b'),
    configMap('b', {}, { namespace: 'shop' }),
    service('web'),
  ]);
});
afterEach(closeAll);

describe('a path below /watch/', () => {
  it.each([
    ['/api/v1/watch/configmaps', ['ADDED a', 'ADDED b', 'ADDED b']],
    ['/api/v1/watch/namespaces/default/configmaps', ['ADDED a', 'ADDED b']],
    ['/api/v1/watch/namespaces/shop/configmaps/b', ['ADDED b']],
    ['/api/v1/watch/namespaces/shop/configmaps/b?fieldSelector=metadata.name%3Db', ['ADDED b']],
    ['/api/v1/watch/namespaces/shop', ['ADDED shop']],
    ['/api/v1/watch/configmaps?watch=0&fieldSelector=metadata.name%3Da', ['ADDED a']],
    ['/apis/discovery.k8s.io/v1/watch/endpointslices', ['ADDED kubernetes']],
  ])('is watched: %s', async (path, expected) => {
    const events = await TestWatch.open(server, path);
    expect(await events.names(expected.length)).toEqual(expected);
  });

  it('continues from a version, and shows the events of the one object', async () => {
    const path = `/api/v1/watch/namespaces/default/configmaps/b?resourceVersion=${server.resourceVersion}`;
    const events = await TestWatch.open(server, path);
    await server.apply([configMap('a', { x: '1' }), configMap('b', { x: '1' })]);
    server.delete('ConfigMap', 'default', 'b');
    expect(await events.names(2)).toEqual(['MODIFIED b', 'DELETED b']);
    expect(server.requests.count('watch', 'configmaps')).toBe(1);
  });

  it('refuses a selector of another name', async () => {
    const path = '/api/v1/watch/namespaces/default/configmaps/b?fieldSelector=metadata.name%3Da';
    const { status, body } = await get(server, path);
    expect([status, body.message]).toEqual([
      400,
      "fieldSelector metadata.name doesn't match requested name",
    ]);
  });

  it.each([
    '/api/v1/watch/nothing',
    '/api/v1/watch/configmaps/a',
    '/api/v1/watch/namespaces/shop/status',
  ])('does not exist: %s', async (path) => expect((await get(server, path)).status).toBe(404));

  it('cannot be written', async () => {
    expect((await send(server, 'POST', '/api/v1/watch/configmaps', {})).status).toBe(405);
  });
});
