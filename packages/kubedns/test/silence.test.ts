import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { held, until } from '@kube-dns/testkit';
import { ApiClient, loadKubeConfig } from '../src/watch/api-client.js';
import {
  closeAll,
  eventText,
  Follower,
  following,
  listText,
  owned,
  rawServer,
  server,
  service,
} from './support/follower.js';

afterEach(closeAll);

const PACE = { aliveMs: 50, silentMs: 50, probeLimitMs: 60_000 };

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

/** A listener that accepts nothing: the kernel queues two connections, and drops the SYN of the next one. */
const FULL = `
  const server = require('node:net').createServer();
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    process.stdout.write(String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

it('a connection that is not there after 3 s is given up', async () => {
  const full = spawn(process.execPath, ['-e', FULL], { stdio: ['ignore', 'pipe', 'inherit'] });
  owned({ close: () => full.kill('SIGKILL') });
  const [bytes] = (await once(full.stdout, 'data')) as [Buffer];
  const port = Number(bytes.toString());
  for (let queued = 0; queued < 2; queued++) {
    const socket = connect(port, '127.0.0.1');
    owned({ close: () => socket.destroy() });
    await once(socket, 'connect');
  }
  const config = loadKubeConfig({ kubecfgFile: '', masterUrl: `http://127.0.0.1:${port}` });
  const client = owned(new ApiClient(config, 'test'));
  jest.useFakeTimers(held('setTimeout', 'clearTimeout'));
  owned({ close: () => jest.useRealTimers() });
  const { signal } = new AbortController();
  const asked = client.get({ path: '/', query: new URLSearchParams(), signal, isWatch: true });
  const failed = expect(asked).rejects.toThrow('no connection within 3000 ms');
  // That of the head, and that of the connection.
  await until('both limits', () => jest.getTimerCount() === 2);
  jest.advanceTimersByTime(2_999);
  expect(jest.getTimerCount()).toBe(2);
  jest.advanceTimersByTime(1);
  await failed;
  expect(jest.getTimerCount()).toBe(0);
});
