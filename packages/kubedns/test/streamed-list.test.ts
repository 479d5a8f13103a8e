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

const END = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}}\n`;

/** A server with its own idea of initial events, which knows pages besides. */
async function serverWith(initial: readonly string[], isEnding = false) {
  const asked: string[] = [];
  const url = await rawServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    const isInitial = query.has('sendInitialEvents');
    asked.push(isInitial ? 'initial' : query.has('watch') ? 'watch' : 'list');
    if (!query.has('watch')) return void response.end(listText(['web', 'new'], '9'));
    response.flushHeaders();
    if (!isInitial) return;
    for (const text of initial) response.write(text);
    if (isEnding) response.end();
  });
  return { url, asked };
}

describe('a list as the beginning of a watch', () => {
  it('is all that a server with initial events is asked for', async () => {
    const api = await server('web');
    api.supportInitialEvents(true);
    const follower = await following(api);
    await until('the list', () => follower.synced === 1);
    expect(follower.has('web')).toBe(true);
    api.create(service('new'));
    await until('the new one', () => follower.has('new'));
    expect(api.requests.count('watch', 'services')).toBe(1);
    expect(api.requests.count('list', 'services')).toBe(0);
  });

  it('is applied as a diff when the server forgot the version', async () => {
    const api = await server('gone', 'kept');
    api.supportInitialEvents(true);
    const follower = await following(api);
    await until('the list', () => follower.synced === 1);
    const before = follower.events.length;
    api.dropWatches();
    api.delete('Service', 'default', 'gone');
    api.create(service('new'));
    api.compact();
    await until('the deletion', () => !follower.has('gone'));
    expect(follower.events.slice(before)).toEqual(['+default/new', '-default/gone']);
    expect(api.requests.count('list', 'services')).toBe(0);
    expect(follower.watch.relists).toBe(1);
    expect(follower.synced).toBe(1);
  });

  it('is asked for as pages for good where it is refused', async () => {
    const api = await server('web');
    const follower = await following(api);
    api.dropWatches();
    api.create(service('new'));
    api.compact();
    await until('the new one', () => follower.has('new'));
    expect(api.requests.count('list', 'services')).toBe(2);
    // One that was refused, and two with a version.
    await until('the watch', () => api.watchCount('services') === 1);
    expect(api.requests.count('watch', 'services')).toBeLessThanOrEqual(4);
    expect(follower.said(/no initial events/)).toHaveLength(1);
    expect(follower.said(/^W.*422/)).toEqual([]);
  });

  it('continues as a watch after its end', async () => {
    const { url, asked } = await serverWith([
      eventText('ADDED', 'web', '3'),
      END,
      eventText('ADDED', 'late', '6'),
    ]);
    const follower = new Follower(url).start();
    await until('the late one', () => follower.has('late'));
    expect(follower.synced).toBe(1);
    expect(asked).toEqual(['initial']);
  });

  it.each([
    ['tells what there is and falls silent', [eventText('ADDED', 'web', '3')], false],
    ['ends without saying that it was all', [eventText('ADDED', 'web', '3')], true],
    ['sends a bookmark of the usual kind', [END.replace('true', 'false')], false],
    ['brings no JSON', ['nonsense\n'], false],
  ])('is asked for as pages where a server %s', async (_what, initial, isEnding) => {
    const { url, asked } = await serverWith(initial, isEnding);
    const follower = new Follower(url, { pace: { initialStallMs: 100 } }).start();
    await until('the list', () => follower.synced === 1);
    await until('the watch', () => asked.length === 3);
    expect(asked).toEqual(['initial', 'list', 'watch']);
    expect([...follower.objects.keys()].sort()).toEqual(['default/new', 'default/web']);
    expect(follower.said(/^W/)).toEqual([]);
  });

  it('is aborted when changes arrive without an end', async () => {
    const large = `${eventText('MODIFIED', 'web', '3').trimEnd()}${' '.repeat(100_000)}\n`;
    const url = await rawServer((request, response) => {
      if (!request.url?.includes('watch')) return void response.end(listText(['web'], '9'));
      response.flushHeaders();
      if (request.url.includes('sendInitialEvents')) {
        const timer = setInterval(() => response.write(large), 10);
        response.once('close', () => clearInterval(timer));
      }
    });
    const follower = new Follower(url, { pace: { initialStallMs: 100 } }).start();
    await until('the list', () => follower.synced === 1);
    expect(follower.said(/no end within 600 ms/)).toHaveLength(1);
  });
});
