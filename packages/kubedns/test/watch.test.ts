import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createApiServer, type KubeObject, type ObjectAccess } from '@kube-dns/apiserver';
import { freePort, until } from '@kube-dns/testkit';
import {
  closeAll,
  eventText,
  fakeServer,
  Follower,
  following,
  listText,
  owned,
  rawServer,
  server,
  service,
  useBookmarks,
} from './support/follower.js';

afterEach(closeAll);

describe.each(['usual', 'rare'] as const)('a watch with %s bookmarks', (often) => {
  beforeEach(() => useBookmarks(often));

  it('delivers additions, changes and deletions', async () => {
    const api = await server('web');
    const follower = await following(api);
    api.create(service('new'));
    await until('the new one', () => follower.has('new'));
    api.update(service('web', { ports: [{ port: 80 }] }));
    const count = () => follower.events.filter((event) => event === '+default/web').length;
    await until('the change', () => count() === 2);
    api.delete('Service', 'default', 'web');
    await until('the deletion', () => !follower.has('web'));
    expect(follower.watch.relists).toBe(0);
  });

  it('continues from its last version when its connection breaks', async () => {
    const api = await server('a', 'b');
    const follower = await following(api);
    for (let round = 0; round < 2; round++) {
      api.dropWatches();
      api.create(service(`new${round}`));
      api.delete('Service', 'default', round === 0 ? 'a' : 'b');
      await until('what happened meanwhile', () => follower.has(`new${round}`));
      await until('the deletion', () => !follower.has(round === 0 ? 'a' : 'b'));
    }
    expect(follower.watch.relists).toBe(0);
  });

  it('is followed by a diff when the server forgot its version', async () => {
    const api = await server('gone', 'kept', 'changed');
    const follower = await following(api);
    const before = follower.events.length;
    api.dropWatches();
    api.delete('Service', 'default', 'gone');
    api.update(service('changed', { ports: [{ port: 80 }] }));
    api.create(service('new'));
    api.compact({ cache: true });
    await until('the new one', () => follower.has('new'));
    await until('the deletion', () => !follower.has('gone'));
    expect(follower.events.slice(before).sort()).toEqual([
      '+default/changed',
      '+default/new',
      '-default/gone',
    ]);
    expect(follower.watch.relists).toBe(1);
    expect(follower.synced).toBe(1);
  });

  it('is opened again at once after each of several breaks', async () => {
    const api = await server();
    // A single pause would take ten minutes.
    const follower = await following(api, { pace: { stableMs: 0, firstPauseMs: 1_200_000 } });
    for (let round = 0; round < 5; round++) {
      await until('the watch', () => api.watchCount('services') === 1);
      api.dropWatches();
      api.create(service(`new${round}`));
      await until('what happened meanwhile', () => follower.has(`new${round}`));
    }
    expect(follower.said(/next try/).every((line) => line.endsWith('next try now'))).toBe(true);
    expect(follower.watch.relists).toBe(0);
  });

  it('is followed by a list at once when its version is gone', async () => {
    const api = await server('web');
    const follower = await following(api, { pace: { stableMs: 0, firstPauseMs: 1_200_000 } });
    for (let round = 0; round < 2; round++) {
      await until('the watch', () => api.watchCount('services') === 1);
      api.dropWatches();
      api.create(service(`new${round}`));
      api.compact({ cache: true });
      await until('what happened meanwhile', () => follower.has(`new${round}`));
    }
    expect(follower.watch.restarts.gone).toBe(2);
  });
});

describe('a watch', () => {
  it('is followed by the next when the server ends it in time', async () => {
    let watches = 0;
    const url = await rawServer((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      if (!query.has('watch')) return void response.end(listText(['web']));
      response.flushHeaders();
      // Whatever it lasts, it is the time that was asked for.
      if (++watches === 1) response.end();
      else response.write(eventText('ADDED', 'late', '2'));
    });
    const follower = new Follower(url, { pace: { watchSeconds: 0, stableMs: 0 } }).start();
    await until('the new one', () => follower.has('late'));
    expect(follower.watch).toMatchObject({ relists: 0, restarts: { timeout: 1, closed: 0 } });
    expect(follower.said(/^W/)).toEqual([]);
  });

  it.each([
    ['ends immediately', ''],
    ['sends invalid JSON', 'nonsense\n'],
  ])('that %s again and again is not opened in a tight loop', async (_what, text) => {
    const opened = async (firstPauseMs: number) => {
      const { url, asked } = await fakeServer((isWatch) => [isWatch ? text : listText(['web'])]);
      new Follower(url, { pace: { firstPauseMs } }).start();
      return () => asked.filter((one) => one.startsWith('watch')).length;
    };
    const afterLongPauses = await opened(1_200_000);
    await until('a watch', () => afterLongPauses() === 1);
    const afterShortPauses = await opened(2);
    await until('five watches', () => afterShortPauses() === 5);
    expect(afterLongPauses()).toBe(1);
  });

  it('is followed by a diff when another server replaces the first', async () => {
    // Of the system's choice the port could be another program's meanwhile.
    const api = owned(await createApiServer({ port: await freePort() }));
    await api.apply(['old', 'kept'].map((name) => service(name)));
    const follower = await following(api);
    await api.close();
    const seed = (objects: ObjectAccess) =>
      objects.load(['kept', 'more', 'new'].map((name) => service(name) as KubeObject));
    owned(await createApiServer({ port: api.port, seed }));
    await until('the new one', () => follower.has('new'));
    await until('the deletion', () => !follower.has('old'));
    expect(follower.has('kept')).toBe(true);
  });

  it('is closed when the server hangs, and opened again when it is back', async () => {
    const api = await server('web');
    const pace = { watchSeconds: 0, overdueMs: 100 };
    const follower = await following(api, { pace, headLimitMs: 100 });
    api.hang();
    api.create(service('new'));
    await until(
      'the end of the time limit',
      () => follower.said(/not done within 100 ms/).length > 0,
    );
    await until('a try', () => follower.said(/no answer within 100 ms/).length > 0);
    expect(follower.has('web')).toBe(true);
    expect(follower.has('new')).toBe(false);
    api.unhang();
    await until('the new one', () => follower.has('new'));
  });

  it('that lasted lets the next trouble begin with a try at once', async () => {
    const api = await server();
    api.failRequests({ status: 500, verb: 'list', times: 2 });
    const follower = await following(api, { pace: { stableMs: 0 } });
    api.dropWatches();
    await until('the third try', () => follower.said(/next try/).length === 3);
    const pauses = follower.said(/next try/).map((line) => /next try (.*)/.exec(line)?.[1]);
    expect(pauses).toEqual(['in 5 ms', 'in 10 ms', 'now']);
  });

  it('asks again for an event that was cut off', async () => {
    const event = (name: string, version: string) =>
      JSON.stringify({
        type: 'ADDED',
        object: { metadata: { namespace: 'default', name, resourceVersion: version } },
      });
    const list = { metadata: { resourceVersion: '1' }, items: [] };
    const { url, asked } = await fakeServer((isWatch, query) => {
      if (!isWatch) return [JSON.stringify(list)];
      return query.get('resourceVersion') === '1'
        ? [`${event('a', '2')}\n`, event('b', '3').slice(0, 20)]
        : [`${event('b', '3')}\n`];
    });
    const follower = new Follower(url).start();
    await until('the second', () => follower.has('b'));
    expect(follower.has('a')).toBe(true);
    expect(asked.slice(0, 3)).toEqual(['list', 'watch 1', 'watch 2']);
  });

  it('lists again after an event that is not JSON, and continues after it', async () => {
    const item = (name: string) => ({
      metadata: { namespace: 'default', name, resourceVersion: '1' },
    });
    let lists = 0;
    const { url, asked } = await fakeServer((isWatch, query) => {
      if (isWatch) return query.get('resourceVersion') === '1' ? ['{"type": nonsense}\n'] : [];
      lists++;
      const items = lists === 1 ? [item('a')] : [item('a'), item('b')];
      return [JSON.stringify({ metadata: { resourceVersion: String(lists) }, items })];
    });
    const follower = new Follower(url).start();
    await until('what the second list has', () => follower.has('b'));
    expect(asked.slice(0, 3)).toEqual(['list', 'watch 1', 'list']);
    expect(follower.said(/a line is not JSON/)).toHaveLength(1);
    expect(follower.watch).toMatchObject({ rejected: 1, restarts: { garbled: 1 } });
    expect(follower.events).toEqual(['+default/a', '+default/b']);
  });

  it('leaves out and counts what is not an event or an object, and applies everything else', async () => {
    const odd = ['3', 'null', '{}', '{"type":"ADDED"}', '{"type":"ADDED","object":{}}'];
    odd.push(
      '{"type":"DELETED","object":null}',
      '{"type":"BOOKMARK"}',
      '{"type":"NEW","object":{}}',
    );
    let watches = 0;
    const { url } = await fakeServer((isWatch) => {
      if (!isWatch) return [listText()];
      if (++watches > 1) return [];
      return [...odd.map((line) => `${line}\n`), eventText('ADDED', 'web', '2'), '{"type":"AD'];
    });
    const follower = new Follower(url).start();
    await until('the good one', () => follower.has('web'));
    await until('the cut one', () => follower.watch.rejected === odd.length);
    expect(follower.said(/^E/)).toEqual([
      'E /api/v1/services: a line of the watch: it is not an event; left out',
    ]);
    await follower.close();
    expect(follower.said(/^E/)[1]).toMatch(
      /^E \/api\/v1\/services: 7 more left out, such as .*: cut after \d+ bytes$/,
    );
  });

  it('ends when it is closed, twice if need be, even while the server hangs', async () => {
    const api = await server();
    const follower = await following(api);
    api.hang();
    await follower.close();
    await follower.close();
    expect(follower.said(/^W/)).toEqual([]);
  });
});

describe('a watch whose version the server cannot read', () => {
  it('is followed by a list', async () => {
    let lists = 0;
    const url = await rawServer((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      if (query.has('fieldSelector')) return void response.end(listText([], '5'));
      if (!query.has('watch')) return void response.end(listText(['web'], String(4 + ++lists)));
      if (query.get('resourceVersion') === '5') response.writeHead(400);
      response.flushHeaders();
      if (query.get('resourceVersion') === '5') response.end();
    });
    const follower = new Follower(url).start();
    await until('the second list', () => follower.watch.version === '6');
    await until('the watch', () => follower.watch.isConnected);
    expect(follower.watch.relists).toBe(1);
  });
});
