import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { held, until } from '@kube-dns/testkit';
import type { ApiServer } from '../src/index.js';
import {
  closeAll,
  CONFIG_MAPS,
  configMap,
  get,
  namespace,
  onClose,
  send,
  startServer,
  textOf,
  TestWatch,
} from './harness.js';

let server: ApiServer;

beforeEach(async () => {
  server = await startServer();
});
afterEach(closeAll);

function watch(query = '', path = CONFIG_MAPS): Promise<TestWatch> {
  return TestWatch.open(server, `${path}?watch=1${query && `&${query}`}`);
}

describe('a watch', () => {
  it('begins with the existing objects when it names no version', async () => {
    await server.apply([configMap('a'), configMap('b')]);
    const events = await watch();
    expect(await events.names(2)).toEqual(['ADDED a', 'ADDED b']);
    await server.apply(configMap('c'));
    expect(await events.names(1)).toEqual(['ADDED c']);
  });

  it('continues from the version of a list without losing or repeating an event', async () => {
    await server.apply(configMap('a'));
    const list = await get(server, CONFIG_MAPS);
    await server.apply(configMap('a', { x: '1' }));
    const version = textOf(list.body.metadata?.resourceVersion);
    const events = await watch(`resourceVersion=${version}`);
    server.delete('ConfigMap', 'default', 'a');
    await server.apply(configMap('b'));
    expect(await events.names(3)).toEqual(['MODIFIED a', 'DELETED a', 'ADDED b']);
  });

  it('shows versions that only rise', async () => {
    const events = await watch(`resourceVersion=${server.resourceVersion}`);
    for (let i = 0; i < 50; i++) await server.apply(configMap('a', { i: String(i) }));
    let last = 0;
    for (let i = 0; i < 50; i++) {
      const version = Number((await events.next())?.object.metadata?.resourceVersion);
      expect(version).toBeGreaterThan(last);
      last = version;
    }
    expect(last).toBe(Number(server.resourceVersion));
  });

  it('shows a deleted object in its last state under the new version', async () => {
    await server.apply(configMap('a', { x: '1' }));
    const events = await watch(`resourceVersion=${server.resourceVersion}`);
    server.delete('ConfigMap', 'default', 'a');
    const event = await events.next();
    expect(event).toMatchObject({
      type: 'DELETED',
      object: { data: { x: '1' }, metadata: { resourceVersion: server.resourceVersion } },
    });
  });

  it('shows an update that leaves its selector as a deletion', async () => {
    await server.apply(configMap('a', { x: '1' }, { labels: { app: 'x' } }));
    const query = `resourceVersion=${server.resourceVersion}&labelSelector=app%3Dx`;
    const events = await watch(query);
    await server.apply(configMap('a', { x: '2' }));
    expect(await events.next()).toMatchObject({
      type: 'DELETED',
      object: { data: { x: '1' }, metadata: { resourceVersion: server.resourceVersion } },
    });
    await server.apply(configMap('a', { x: '3' }, { labels: { app: 'x' } }));
    expect(await events.names(1)).toEqual(['ADDED a']);
  });

  it('shows only objects that it selects by name and namespace', async () => {
    await server.apply(namespace('shop'));
    const query = `resourceVersion=${server.resourceVersion}&fieldSelector=metadata.name%3Da`;
    const events = await watch(query);
    await server.apply([
      configMap('b'),
      configMap('a', {}, { namespace: 'shop' }),
      configMap('a', { x: 'mine' }),
    ]);
    expect((await events.next())?.object).toMatchObject({ data: { x: 'mine' } });
  });

  it('shows the deletion of everything in a namespace, then of the namespace', async () => {
    await server.apply([namespace('shop'), configMap('a', {}, { namespace: 'shop' })]);
    const from = `resourceVersion=${server.resourceVersion}`;
    const maps = await watch(from, '/api/v1/configmaps');
    const namespaces = await watch(from, '/api/v1/namespaces');
    await send(server, 'DELETE', '/api/v1/namespaces/shop');
    expect(await maps.names(1)).toEqual(['DELETED a']);
    expect(await namespaces.names(2)).toEqual(['MODIFIED shop', 'DELETED shop']);
  });

  it('sends initial events and marks their end on request', async () => {
    await server.apply([configMap('a'), configMap('b')]);
    const query =
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const events = await watch(query);
    expect(await events.names(2)).toEqual(['ADDED a', 'ADDED b']);
    expect(await events.next()).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: {
          resourceVersion: server.resourceVersion,
          annotations: { 'k8s.io/initial-events-end': 'true' },
        },
      },
    });
    await server.apply(configMap('c'));
    expect(await events.names(1)).toEqual(['ADDED c']);
  });

  it('sends no initial events when the client declines them', async () => {
    await server.apply(configMap('a'));
    const events = await watch('sendInitialEvents=false&resourceVersionMatch=NotOlderThan');
    await server.apply(configMap('b'));
    expect(await events.names(1)).toEqual(['ADDED b']);
  });

  it.each([
    'sendInitialEvents=true',
    'sendInitialEvents=true&resourceVersionMatch=Exact',
    'continue=x',
    'resourceVersionMatch=NotOlderThan&resourceVersion=1',
  ])('is refused with %s', async (query) => {
    expect((await get(server, `${CONFIG_MAPS}?watch=1&${query}`)).status).toBe(422);
  });

  it('gets bookmarks from time to time', async () => {
    server = await startServer({ bookmarkIntervalMs: 20 });
    const from = server.resourceVersion;
    const events = await watch(`resourceVersion=${from}&allowWatchBookmarks=true`);
    expect(await events.next()).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: from } },
    });
  });

  it('ends in order when its time is over, with a last bookmark', async () => {
    jest.useFakeTimers(held('setTimeout', 'clearTimeout'));
    const events = await watch(
      `resourceVersion=${server.resourceVersion}&timeoutSeconds=1&allowWatchBookmarks=true`,
    );
    jest.advanceTimersByTime(1_000);
    jest.useRealTimers();
    expect((await events.next())?.type).toBe('BOOKMARK');
    expect(await events.next()).toBeUndefined();
    await until('end of the watch', () => server.watchCount() === 0);
  });

  it('gets a 410 error event for a version whose history is discarded', async () => {
    server = await startServer({ historyLimit: 5 });
    const from = server.resourceVersion;
    for (let i = 0; i < 20; i++) await server.apply(configMap('a', { i: String(i) }));
    const events = await watch(`resourceVersion=${from}`);
    expect(events.status).toBe(200);
    expect(await events.next()).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', code: 410, reason: 'Expired' },
    });
    expect(await events.next()).toBeUndefined();
  });

  it('from a version that is yet to come is silent until then, without bookmarks, too', async () => {
    server = await startServer({ bookmarkIntervalMs: 5 });
    const now = Number(server.resourceVersion);
    const events = await watch(`resourceVersion=${now + 2}&allowWatchBookmarks=1`);
    expect(events.status).toBe(200);
    await server.apply(configMap('a'));
    // The time of its bookmarks has come when that of another watch has, which began later.
    const other = await watch(`resourceVersion=${now + 1}&allowWatchBookmarks=1`);
    expect((await other.next())?.type).toBe('BOOKMARK');
    await server.apply(configMap('b'));
    expect(await events.next()).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: String(now + 2) } },
    });
  });

  it('without a version has a bookmark at the end of the existing objects', async () => {
    await server.apply(configMap('a'));
    for (const version of ['', '&resourceVersion=0']) {
      const events = await watch(`allowWatchBookmarks=true${version}`);
      expect(await events.names(1)).toEqual(['ADDED a']);
      expect((await events.next())?.object.metadata).toEqual({
        resourceVersion: server.resourceVersion,
        annotations: { 'k8s.io/initial-events-end': 'true' },
      });
    }
  });

  it('is over at once when its time is negative', async () => {
    await server.apply(configMap('a'));
    expect(await (await watch('timeoutSeconds=-1')).next()).toBeUndefined();
  });

  it.each([
    ['services', { spec: {}, status: { loadBalancer: {} } }],
    ['namespaces', { spec: {}, status: {} }],
    ['configmaps', {}],
  ])('of %s has bookmarks with no time of creation and no content', async (resource, fields) => {
    const events = await TestWatch.open(
      server,
      `/api/v1/${resource}?watch=1&allowWatchBookmarks=1&labelSelector=none`,
    );
    const { object } = (await events.next())!;
    const { apiVersion, kind, metadata, ...rest } = object as unknown as Record<string, unknown>;
    expect([apiVersion, typeof kind]).toEqual(['v1', 'string']);
    expect(Object.keys(metadata as object)).toEqual(['resourceVersion', 'annotations']);
    expect(rest).toEqual(fields);
  });

  it('gets a 504 error event for initial events of a version that is yet to come', async () => {
    server = await startServer({ freshnessWaitMs: 1 });
    const { resourceVersion } = server;
    const events = await watch(
      `resourceVersion=${Number(resourceVersion) + 1}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
    );
    expect((await events.next())?.object).toMatchObject({
      message: `Timeout: Too large resource version: ${Number(resourceVersion) + 1}, current: ${resourceVersion}`,
      reason: 'Timeout',
      code: 504,
    });
  });

  it('shows table rows, and the columns only once', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    await server.apply([configMap('a'), configMap('b')]);
    const events = await TestWatch.open(server, `${CONFIG_MAPS}?watch=1`, accept);
    const first = await events.next();
    const cells = ['a', 0, expect.stringMatching(/^\d+s$/)];
    expect(first?.object).toMatchObject({ kind: 'Table', rows: [{ cells }] });
    expect(first?.object.columnDefinitions).toHaveLength(3);
    expect((await events.next())?.object.columnDefinitions).toHaveLength(0);
  });

  it('gets a long initial state and the changes meanwhile in order', async () => {
    const text = 'x'.repeat(10_000);
    const count = 600;
    const maps = Array.from({ length: count }, (_, i) => configMap(`m${i}`, { text }));
    await server.apply(maps);
    const events = await watch();
    await server.apply(configMap('m7', { text: 'new' }));
    const seen = await events.names(count + 1);
    expect(new Set(seen.slice(0, count)).size).toBe(count);
    expect(seen.at(-1)).toBe('MODIFIED m7');
  });

  it.each([
    ['20 events', { watchQueueLimit: 20 }],
    ['16 MiB', {}],
  ])('is ended when its client leaves %s unread, and the server continues', async (_, options) => {
    server = await startServer(options);
    const socket = connect(server.port, '127.0.0.1');
    onClose(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(`GET ${CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await until('the watch', () => server.watchCount('configmaps') === 1);
    const text = 'x'.repeat(500_000);
    for (let i = 0; i < 100 && server.watchCount() > 0; i++) {
      await server.apply(configMap('a', { i: String(i), text }));
      await new Promise(setImmediate);
    }
    await until('end of the slow watch', () => server.watchCount() === 0);
    expect((await get(server, CONFIG_MAPS)).status).toBe(200);
  });

  it('is dropped when its client disconnects', async () => {
    const abort = new AbortController();
    await fetch(`${server.url}${CONFIG_MAPS}?watch=1`, { signal: abort.signal });
    expect(server.watchCount('configmaps')).toBe(1);
    abort.abort();
    await until('end of the watch', () => server.watchCount() === 0);
  });

  it('ends with the server', async () => {
    const events = await watch();
    await server.close();
    await expect(events.next()).rejects.toThrow();
  });
});
