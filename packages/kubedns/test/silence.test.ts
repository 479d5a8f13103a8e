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

const PACE = { silentMs: 50, probeLimitMs: 60_000 };

describe('a silent watch', () => {
  it('is given up when the server does not answer any more, long before its time is over', async () => {
    const api = await server('web');
    const follower = await following(api, { pace: { ...PACE, probeLimitMs: 100 } });
    api.hang();
    api.create(service('new'));
    await until(
      'the end of the time limit',
      () =>
        follower.said(/W.*: silent for \d+ s, and the probe failed: no answer within 100 ms/)[0],
    );
    expect(follower.watch.restarts.idle).toBe(1);
    expect(follower.watch.isConnected).toBe(false);
    expect(follower.watch.noContactMs).toBeGreaterThan(0);
    expect(follower.has('web')).toBe(true);
    api.unhang();
    await until('the new one', () => follower.has('new'));
    await until('the watch', () => follower.watch.noContactMs === 0);
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

  /** A server at version 9, with a first watch that has one bookmark, and later ones from version 2 with this. */
  async function quiet(later: string) {
    const watches: string[] = [];
    let lists = 0;
    const url = await rawServer((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      if (query.has('fieldSelector')) return void response.end(listText([], '9'));
      if (!query.has('watch')) {
        response.end(lists++ === 0 ? listText(['web'], '1') : listText(['web', 'new'], '9'));
        return;
      }
      const isShort = query.get('timeoutSeconds') === '1';
      watches.push(isShort ? 'short' : `from ${query.get('resourceVersion')!}`);
      // In one piece with its head: nothing is probed before the bookmark is there.
      if (watches.length === 1) return void response.write(eventText('BOOKMARK', '', '2'));
      response.flushHeaders();
      if (query.get('resourceVersion') === '2') response.write(later);
      if (isShort) response.end();
    });
    const follower = new Follower(url, { pace: { ...PACE, recheckMs: 50 } }).start();
    return { watches, follower };
  }

  it('is given up when another one has events: only its connection is dead', async () => {
    const { watches, follower } = await quiet(eventText('ADDED', 'new', '9'));
    await until('the new one', () => follower.has('new'));
    await until('the next watch', () => watches.length === 3);
    expect(watches).toEqual(['from 1', 'short', 'from 9']);
    expect(follower.said(/^W.*silent for \d+ s, and the probe failed: another watch/)).toHaveLength(
      1,
    );
    expect(follower.watch).toMatchObject({ relists: 1, restarts: { idle: 1, restored: 0 } });
  });

  it('is left alone when another one has no events either: the version is that of other objects', async () => {
    const { watches, follower } = await quiet('');
    await until('some short watches', () => watches.length >= 4);
    expect(watches.slice(0, 4)).toEqual(['from 1', 'short', 'short', 'short']);
    expect(follower.watch.restarts.idle).toBe(0);
  });
});
