import { describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import {
  CONFIG_MAPS,
  configMap,
  get,
  onClose,
  send,
  SERVICES,
  TestWatch,
  withDeadline,
  server,
  startServerForEach,
} from './harness.js';

startServerForEach();

/** The two ways to use every switch: on the server object and over HTTP. */
const WAYS: [string, (name: string, body?: object) => Promise<unknown>][] = [
  [
    'over HTTP',
    async (name, body = {}) =>
      expect((await send(server, 'POST', `/_test/${name}`, body)).status).toBe(200),
  ],
  [
    'on the object',
    (name, body = {}) => {
      const value = Object.values(body)[0] as never;
      const methods: Record<string, () => void> = {
        'drop-watches': () => server.dropWatches(),
        hang: () => server.hang(),
        unhang: () => server.unhang(),
        fail: () => server.failRequests(body as never),
        'clear-failures': () => server.clearFailures(),
        compact: () => server.compact(body),
        delay: () => server.delayRequests(value),
        'initial-events': () => server.supportInitialEvents(value),
        limit: () => server.supportLimit(value),
      };
      methods[name]!();
      return Promise.resolve();
    },
  ],
];

describe.each(WAYS)('a switch %s', (_title, flip) => {
  it('drops all watches', async () => {
    const events = await TestWatch.open(server, `${CONFIG_MAPS}?watch=1`);
    await flip('drop-watches');
    await expect(events.next()).rejects.toThrow();
    expect((await get(server, CONFIG_MAPS)).status).toBe(200);
  });

  it('makes the server hang until it is released, and loses nothing', async () => {
    const events = await TestWatch.open(server, `${CONFIG_MAPS}?watch=1`);
    await flip('hang');
    let isAnswered = false;
    const answer = get(server, CONFIG_MAPS).finally(() => (isAnswered = true));
    await until('the held list', () => server.requests.count('list', 'configmaps') === 1);
    await server.apply(configMap('a'));
    const next = events.next();
    expect(isAnswered).toBe(false);
    await flip('unhang');
    expect((await withDeadline(answer, 'the held answer')).status).toBe(200);
    expect(await next).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } });
  });

  it.each([
    [403, 'Forbidden'],
    [410, 'Expired'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
  ])('refuses one resource with %d', async (status, reason) => {
    await flip('fail', { status, resource: 'configmaps' });
    const { body, ...answer } = await get(server, CONFIG_MAPS);
    expect([answer.status, body.reason, body.code]).toEqual([status, reason, status]);
    expect((await get(server, SERVICES)).status).toBe(200);
    await flip('clear-failures');
    expect((await get(server, CONFIG_MAPS)).status).toBe(200);
  });

  it('refuses one verb a few times and sends when to retry', async () => {
    await flip('fail', { status: 429, verb: 'watch', times: 2, retryAfterSeconds: 7 });
    for (let i = 0; i < 2; i++) {
      const refused = await get(server, `${CONFIG_MAPS}?watch=1`);
      expect(refused.status).toBe(429);
      expect(refused.headers.get('retry-after')).toBe('7');
      expect(refused.body.details).toEqual({ retryAfterSeconds: 7 });
      expect((await get(server, CONFIG_MAPS)).status).toBe(200);
    }
    expect((await TestWatch.open(server, `${CONFIG_MAPS}?watch=1`)).status).toBe(200);
  });

  it('compacts', async () => {
    const { resourceVersion } = server;
    await server.apply(configMap('a'));
    await flip('compact', { cache: true });
    const path = `${CONFIG_MAPS}?watch=1&resourceVersion=`;
    const old = await TestWatch.open(server, path + resourceVersion);
    expect(await old.next()).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    await flip('compact');
    const fresh = await TestWatch.open(server, path + server.resourceVersion);
    await server.apply(configMap('b'));
    expect(await fresh.names(1)).toEqual(['ADDED b']);
  });

  it('delays each request by itself', async () => {
    await flip('delay', { ms: 1 });
    expect((await get(server, CONFIG_MAPS)).status).toBe(200);
    await flip('delay', { ms: 3_600_000 });
    const abort = new AbortController();
    let isAnswered = false;
    const delayed = fetch(server.url + CONFIG_MAPS, { signal: abort.signal });
    void delayed.then(() => (isAnswered = true)).catch(() => undefined);
    await until('the delayed list', () => server.requests.count('list', 'configmaps') === 2);
    await flip('delay', { ms: 0 });
    expect((await get(server, CONFIG_MAPS)).status).toBe(200);
    expect(isAnswered).toBe(false);
    abort.abort();
    await expect(delayed).rejects.toThrow();
  });

  it('disables initial events', async () => {
    const path = `${CONFIG_MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
    await flip('initial-events', { supported: false });
    const { status, body } = await get(server, path);
    expect([status, body.reason]).toEqual([422, 'Invalid']);
    await flip('initial-events', { supported: true });
    expect((await TestWatch.open(server, path)).status).toBe(200);
  });

  it('disables paging', async () => {
    await server.apply([configMap('a'), configMap('b'), configMap('c')]);
    await flip('limit', { supported: false });
    const { body } = await get(server, `${CONFIG_MAPS}?limit=1`);
    expect(body.items).toHaveLength(3);
    expect(body.metadata).not.toHaveProperty('continue');
  });
});

describe('the test routes', () => {
  it('answer a server that hangs', async () => {
    server.hang();
    expect((await send(server, 'POST', '/_test/unhang')).status).toBe(200);
    expect((await get(server, CONFIG_MAPS)).status).toBe(200);
  });

  it.each([
    ['fail', { status: 418 }],
    ['fail', { status: 500, verb: 'sing' }],
    ['fail', { status: 500, times: -1 }],
    ['delay', { ms: 'long' }],
    ['limit', {}],
    ['limit', []],
  ])('refuse %s with %j', async (name, body) => {
    expect((await send(server, 'POST', `/_test/${name}`, body)).status).toBe(400);
  });

  it('return the requests so far', async () => {
    const userAgent = { 'user-agent': 'probe/1' };
    await send(server, 'GET', CONFIG_MAPS, undefined, userAgent);
    await TestWatch.open(server, `${CONFIG_MAPS}?watch=1`);
    await send(server, 'POST', SERVICES, {}, userAgent);
    expect(server.requests.count('list', 'configmaps')).toBe(1);
    expect(server.requests.count('watch', 'configmaps')).toBe(1);
    expect(server.requests.lastUserAgent).toBe('probe/1');
    expect((await get(server, '/_test/requests')).body).toEqual({
      counts: { 'list configmaps': 1, 'watch configmaps': 1, 'create services': 1 },
      lastUserAgent: 'probe/1',
    });
  });
});

describe('a request that is held back', () => {
  it('is dropped when its client disconnects', async () => {
    server.hang();
    const abort = new AbortController();
    onClose(() => abort.abort());
    const answer = fetch(server.url + CONFIG_MAPS, { signal: abort.signal });
    await until('the held list', () => server.requests.count('list', 'configmaps') === 1);
    abort.abort();
    await expect(answer).rejects.toThrow();
    server.unhang();
    expect((await get(server, CONFIG_MAPS)).status).toBe(200);
  });
});
