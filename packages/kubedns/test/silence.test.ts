import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import {
  closeAll,
  eventText,
  Follower,
  following,
  listText,
  rawServer,
  server,
  service,
} from './support/follower.js';

afterEach(closeAll);

const PACE = { silentMs: 100, probeLimitMs: 5_000 };

describe('a silent watch', () => {
  it('is given up when the server does not answer any more, long before its time is over', async () => {
    const api = await server('web');
    const follower = await following(api, { pace: { ...PACE, probeLimitMs: 500 } });
    api.hang();
    api.create(service('new'));
    await until(
      'the end of the time limit',
      () => follower.said(/W.*: silent for 0 s, and the probe failed: no answer within 500 ms/)[0],
    );
    expect(follower.watch.restarts.idle).toBe(1);
    expect(follower.watch.isConnected).toBe(false);
    expect(follower.watch.noContactMs).toBeGreaterThanOrEqual(100);
    expect(follower.has('web')).toBe(true);
    api.unhang();
    await until('the new one', () => follower.has('new'));
    expect(follower.watch.noContactMs).toBe(0);
  });

  it('is left alone while the server answers', async () => {
    const api = await server('web');
    const follower = await following(api, { pace: PACE });
    // The list, and then what asks whether the server is there.
    await until('some probes', () => api.requests.count('list', 'services') >= 4);
    expect(api.watchCount('services')).toBe(1);
    expect(follower.watch.isConnected).toBe(true);
    expect(follower.said(/^W/)).toEqual([]);
    api.create(service('new'));
    await until('the new one', () => follower.has('new'));
  });

  it('is left alone while the server refuses to answer more', async () => {
    const api = await server('web');
    const follower = await following(api, { pace: PACE });
    api.failRequests({ status: 429, verb: 'list' });
    await until('some probes', () => api.requests.count('list', 'services') >= 4);
    expect(api.watchCount('services')).toBe(1);
    expect(follower.watch.restarts.idle).toBe(0);
  });

  it('is given up when its bookmarks stay away, though the server answers', async () => {
    let watches = 0;
    const bookmark = eventText('BOOKMARK', '', '2');
    const url = await rawServer((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      if (query.has('sendInitialEvents')) return void response.writeHead(422).end();
      if (!query.has('watch')) return void response.end(listText(['web']));
      watches++;
      response.write(bookmark);
      setTimeout(() => response.write(bookmark), 20);
    });
    const pace = { ...PACE, bookmarkLimitMs: 150 };
    const follower = new Follower(url, { pace }).start();
    await until('the end of the time limit', () => follower.said(/without the bookmarks/)[0]);
    await until('a second watch', () => watches === 2);
    expect(follower.watch.restarts.idle).toBe(1);
  });

  it('that only ever had one bookmark is not expected to get more', async () => {
    let lists = 0;
    const url = await rawServer((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      if (query.has('sendInitialEvents')) return void response.writeHead(422).end();
      if (query.has('watch')) return void response.write(eventText('BOOKMARK', '', '2'));
      lists++;
      response.end(listText(['web']));
    });
    const follower = new Follower(url, { pace: { ...PACE, bookmarkLimitMs: 150 } }).start();
    await until('some probes', () => lists >= 5);
    expect(follower.watch.restarts.idle).toBe(0);
  });
});
