import type { RequestListener } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { ApiServer } from '@kube-dns/apiserver';
import { until } from '@kube-dns/testkit';
import {
  closeAll,
  fakeServer,
  Follower,
  following,
  listText,
  rawServer,
  server,
} from './support/follower.js';

afterEach(closeAll);

/** How often services were asked for, in whatever way. */
const tries = (api: ApiServer) =>
  api.requests.count('list', 'services') + api.requests.count('watch', 'services');

describe('the first list', () => {
  it('is read in pages, every object once', async () => {
    const names = Array.from({ length: 450 }, (_, i) => `s${i}`);
    const api = await server(...names);
    const follower = await following(api, { pace: { pageSize: 200 } });
    expect(names.every((name) => follower.has(name))).toBe(true);
    expect(follower.events).toHaveLength(451);
    expect(api.requests.count('list', 'services')).toBe(3);
    expect(follower.synced).toBe(1);
    expect(api.requests.lastUserAgent).toBe('test');
  });

  it('starts anew when the server forgot it between two pages', async () => {
    const api = await server(...Array.from({ length: 250 }, (_, i) => `s${i}`));
    const follower = new Follower(api.url, { pace: { pageSize: 200 } });
    follower.onProject = () => {
      follower.onProject = () => undefined;
      api.delete('Service', 'default', 's100');
      api.compact({ cache: true });
    };
    follower.start();
    await until('the list', () => follower.synced === 1);
    expect(follower.said(/the version is gone/)).toHaveLength(1);
    expect(follower.objects.size).toBe(250);
    expect(follower.has('s100')).toBe(false);
    // What the first page and the new list have in common was handed on once.
    expect(follower.events.filter((event) => event === '+default/s101')).toHaveLength(1);
  });

  it('is asked for again after a failure', async () => {
    const api = await server('web');
    api.failRequests({ status: 500, verb: 'list', times: 1 });
    const follower = await following(api);
    expect(follower.said(/^W/)).toEqual([
      'W /api/v1/services: HTTP 500: list of services is refused by a test; next try in 5 ms',
    ]);
    expect(follower.has('web')).toBe(true);
  });

  it.each([
    [429, '1', 1],
    // The longest that a server may request.
    [503, new Date(Date.now() + 3_600_000).toUTCString(), 60],
  ])(
    'is asked for as late as the server says with status %i: %s',
    async (status, later, seconds) => {
      const url = await rawServer((_, response) => {
        response.writeHead(status, { 'retry-after': later }).end();
      });
      const follower = new Follower(url).start();
      const line = `W /api/v1/services: HTTP ${status}; next try in ${seconds} s`;
      await until('the pause', () => follower.said(/^W/).includes(line));
    },
  );

  it('is asked for less and less often', async () => {
    const api = await server();
    api.failRequests({ status: 500, verb: 'list' });
    const follower = new Follower(api.url).start();
    const pauses = await until('three pauses', () => {
      const lines = follower.said(/next try/);
      return lines.length === 3 && lines.map((line) => /in (\d+) ms/.exec(line)?.[1]);
    });
    expect(pauses).toEqual(['5', '10', '20']);
  });

  it('leaves out an invalid object, and continues', async () => {
    const api = await server('a', 'bad', 'c');
    const follower = new Follower(api.url);
    follower.onProject = (key) => {
      if (key === 'default/bad') throw new Error('it is bad');
    };
    follower.start();
    await until('the list', () => follower.synced === 1);
    expect([...follower.objects.keys()]).toEqual(['default/a', 'default/c', 'default/kubernetes']);
    expect(follower.said(/^E/)).toEqual(['E /api/v1/services: default/bad: it is bad; left out']);
    expect(follower.events).not.toContain('+default/bad');
    expect(follower.watch.rejected).toBe(1);
  });

  it('is complete from a server without pages', async () => {
    const api = await server(...Array.from({ length: 700 }, (_, i) => `s${i}`));
    api.supportLimit(false);
    const follower = await following(api);
    expect(follower.objects.size).toBe(701);
    expect(api.requests.count('list', 'services')).toBe(1);
  });

  it('is asked for once more where an idle connection turns out to be broken', async () => {
    const api = await server('web');
    let requests = 0;
    const url = await rawServer((request, response) => {
      requests++;
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      // A watch is left open; the second page meets a connection that is no more.
      if (query.has('watch')) response.flushHeaders();
      else if (query.get('continue') === 'more' && requests === 2) request.socket.destroy();
      else response.end(listText([`s${requests}`], '1', query.has('continue') ? '' : 'more'));
    });
    const follower = new Follower(url).start();
    await until('the list', () => follower.synced === 1);
    expect([...follower.objects.keys()]).toEqual(['default/s1', 'default/s3']);
    expect(follower.said(/^W/)).toEqual([]);
    await api.close();
  });
});

describe('a new list that fails', () => {
  const pods = (names: string[]) => listText(names, '2').replace('{', '{"kind":"PodList",');
  it.each([
    ['is cut', [listText(['a', 'b'], '2').slice(0, -30)], /the list is not JSON/],
    ['is no list', ['<html>'], /the list is not JSON/],
    ['is something else', ['{"items":[]}'], /it has no resourceVersion/],
    ['has no items', ['{"metadata":{"resourceVersion":"2"}}'], /it has no items/],
    ['is of another kind', [pods([])], /the answer is of kind "PodList", not ServiceList/],
    ['has items of another kind', [pods(['a', 'pod'])], /is of kind "PodList", not ServiceList/],
    ['has an item that is none', ['{"items":[nonsense]}'], /an item is not JSON/],
    ['never ends', [listText(['b'], '2', 'next')], /names itself as the next/],
  ])('because it %s removes nothing, and is tried again', async (_what, garbage, problem) => {
    let lists = 0;
    const gone = '{"type":"ERROR","object":{"code":410,"message":"too old"}}\n';
    const { url } = await fakeServer((isWatch, query) => {
      if (isWatch) return query.get('resourceVersion') === '1' ? [gone] : [];
      if (!query.has('continue')) lists++;
      if (lists === 1) return [listText(['a', 'b'])];
      if (lists < 4) return garbage;
      return [listText(['b', 'c'], '9')];
    });
    const follower = new Follower(url).start();
    await until('the third list', () => lists === 3);
    expect(follower.events).toEqual(['+default/a', '+default/b']);
    await until('the good one', () => follower.has('c'));
    expect(follower.events.slice(2)).toEqual(['+default/c', '-default/a']);
    expect(follower.said(problem).length).toBeGreaterThan(0);
    expect(follower.watch.rejected).toBeGreaterThanOrEqual(2);
    expect(follower.watch.restarts).toMatchObject({ gone: 1, garbled: 2 });
    expect(follower.watch.relists).toBe(1);
    expect(follower.watch.isOverLimit).toBe(false);
  });
});

describe('a list from a server that', () => {
  const give = async (listener: RequestListener, options: { headLimitMs?: number } = {}) =>
    new Follower(await rawServer(listener), {
      pace: { listStallMs: 50, silentMs: 60_000 },
      ...options,
    }).start();

  it('accepts and is silent is aborted', async () => {
    const follower = await give(() => undefined, { headLimitMs: 50 });
    await until('the end of the time limit', () => follower.said(/W.*: no answer within 50 ms/)[0]);
    expect(follower.watch.restarts.idle).toBeGreaterThanOrEqual(1);
  });

  it('sends a head and no body is given up', async () => {
    const follower = await give((_, response) => response.flushHeaders());
    await until(
      'the end of the time limit',
      () => follower.said(/W.*: only 0 bytes within 50 ms/)[0],
    );
  });

  it('breaks off in the middle is asked again', async () => {
    let lists = 0;
    const broken: RequestListener = (request, response) => {
      if (request.url?.includes('watch')) {
        response.flushHeaders();
        return;
      }
      const text = listText(['web']);
      if (++lists > 1) return void response.end(text);
      response.write(text.slice(0, 40), () => response.destroy());
    };
    const follower = new Follower(await rawServer(broken)).start();
    await until('the list', () => follower.synced === 1);
    expect(follower.watch.restarts.closed).toBe(1);
  });
});

describe('a resource that is denied', () => {
  it('is reported once, and asked for again later', async () => {
    const api = await server('web');
    api.failRequests({ status: 403, resource: 'services' });
    let denied = 0;
    const follower = new Follower(api.url, {
      onDenied: () => denied++,
      pace: { deniedPauseMs: 10 },
    }).start();
    await until('a second try', () => tries(api) > 2);
    expect(denied).toBe(1);
    expect(follower.synced).toBe(0);
    api.clearFailures();
    await until('the list', () => follower.synced === 1);
    expect(follower.has('web')).toBe(true);
  });
});
