import { afterEach, describe, expect, it } from '@jest/globals';
import { closeAll, Follower, following, server } from './support/follower.js';
import { until } from './support/until.js';

afterEach(closeAll);

describe('the first list', () => {
  it('comes in pages and brings every object once', async () => {
    const names = Array.from({ length: 450 }, (_, i) => `s${i}`);
    const api = await server(...names);
    const follower = await following(api);
    expect(names.every((name) => follower.has(name))).toBe(true);
    expect(follower.events).toHaveLength(451);
    expect(api.requests.count('list', 'services')).toBe(3);
    expect(follower.synced).toBe(1);
    expect(api.requests.lastUserAgent).toBe('test');
  });

  it('starts anew when the server forgot it between two pages', async () => {
    const api = await server(...Array.from({ length: 250 }, (_, i) => `s${i}`));
    const follower = new Follower(api.url);
    follower.onUpsert = () => {
      follower.onUpsert = () => undefined;
      api.delete('Service', 'default', 's100');
      api.compact();
    };
    follower.start();
    await until('the list', () => follower.synced === 1);
    expect(follower.said(/the version is gone/)).toHaveLength(1);
    expect(follower.objects.size).toBe(250);
    expect(follower.has('s100')).toBe(false);
    // What the first page and the new list have in common was handed on once.
    expect(follower.events.filter((event) => event === '+default/s101')).toHaveLength(1);
  });

  it.each([
    [500, undefined, 50],
    [429, 1, 1000],
  ] as const)('is asked for again after status %i', async (status, retryAfterSeconds, pauseMs) => {
    const api = await server('web');
    api.failRequests({
      status,
      verb: 'list',
      times: 1,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    });
    const startedMs = performance.now();
    const follower = await following(api);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(pauseMs - 5);
    expect(follower.said(/^W/)).toEqual([
      `W /api/v1/services: HTTP ${status}: list of services is refused by a test; next try in ${pauseMs} ms`,
    ]);
    expect(follower.has('web')).toBe(true);
  });

  it('is asked for less and less often', async () => {
    const api = await server();
    api.failRequests({ status: 500, verb: 'list' });
    const follower = new Follower(api.url).start();
    const pauses = await until('three pauses', () => {
      const lines = follower.said(/next try/);
      return lines.length === 3 && lines.map((line) => /in (\d+) ms/.exec(line)?.[1]);
    });
    expect(pauses).toEqual(['50', '100', '200']);
  });

  it('leaves an object out that makes no sense, and goes on', async () => {
    const api = await server('a', 'bad', 'c');
    const follower = new Follower(api.url);
    follower.onUpsert = (key) => {
      if (key === 'default/bad') throw new Error('it is bad');
    };
    follower.start();
    await until('the list', () => follower.synced === 1);
    expect([...follower.objects.keys()]).toEqual(['default/a', 'default/c', 'default/kubernetes']);
    expect(follower.said(/^E/)).toEqual(['E /api/v1/services: default/bad: it is bad; left out']);
    expect(follower.events).toContain('-default/bad');
  });
});

describe('a resource that is denied', () => {
  it('is reported once, and asked for again later', async () => {
    const api = await server('web');
    api.failRequests({ status: 403, resource: 'services' });
    let denied = 0;
    const follower = new Follower(api.url, {
      onDenied: () => denied++,
      pace: { deniedPauseMs: 100 },
    }).start();
    await until('a second try', () => api.requests.count('list', 'services') > 1);
    expect(denied).toBe(1);
    expect(follower.synced).toBe(0);
    api.clearFailures();
    await until('the list', () => follower.synced === 1);
    expect(follower.has('web')).toBe(true);
  });
});
