import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import type { ServerResponse } from 'node:http';
import { closeAll, eventText, Follower, listText, rawServer } from './support/follower.js';

afterEach(closeAll);

/** Silent for a shorter time than a test waits, and checks that follow each other quickly. */
const PACE = { aliveMs: 100, silentMs: 100, recheckMs: 50, stableMs: 0 };

/** A server of services with versions of the test's own, whose cache may show another one than its storage. */
class ScriptedServer {
  names = ['web', 'old'];
  version = '100';
  /** Of its cache; the version unless given. */
  cachedVersion: string | undefined;
  isStorageDown = false;
  uid = '';
  /** What was asked for, without watches. */
  readonly asked: ('probe' | 'proof' | 'list')[] = [];
  readonly watches: { readonly version: string; readonly response: ServerResponse }[] = [];
  url = '';

  async start(): Promise<this> {
    this.url = await rawServer((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      if (query.has('watch')) {
        response.flushHeaders();
        this.watches.push({ version: query.get('resourceVersion') ?? '', response });
        return;
      }
      const isCached = query.get('resourceVersion') === '0';
      const isSmall = query.has('fieldSelector');
      this.asked.push(isCached ? 'probe' : isSmall ? 'proof' : 'list');
      if (isCached) return void response.end(listText([], this.cachedVersion ?? this.version));
      if (this.isStorageDown) return void response.writeHead(500).end();
      response.end(listText(isSmall ? [] : this.names, this.version));
    });
    return this;
  }

  count(what: string): number {
    return this.asked.filter((one) => one === what).length;
  }

  /** Ends the open watch as a restart does, without a word. */
  endWatch(): void {
    this.watches.at(-1)?.response.end();
  }
}

async function followed(pace: object = PACE): Promise<[ScriptedServer, Follower]> {
  const server = await new ScriptedServer().start();
  const follower = new Follower(server.url, { pace }).start();
  await until('the watch', () => server.watches.length === 1);
  return [server, follower];
}
const QUIET = { ...PACE, aliveMs: 60_000, silentMs: 60_000 };

describe('a cluster that was restored', () => {
  it('is listed at once when its restart ended the watch, and its objects stay until then', async () => {
    const [server, follower] = await followed(QUIET);
    server.version = '40';
    server.names = ['web', 'new'];
    server.endWatch();
    await until('the deletion', () => !follower.has('old'));
    expect(follower.events).toEqual([
      '+default/web',
      '+default/old',
      // Of the second list: an equal version is that of another history.
      '+default/web',
      '+default/new',
      '-default/old',
    ]);
    expect(server.asked).toEqual(['list', 'probe', 'proof', 'list']);
    await until('the watch', () => server.watches.length === 3);
    expect(server.watches.map(({ version }) => version)).toEqual(['100', '100', '40']);
    expect(follower.watch.restarts).toMatchObject({ closed: 1, restored: 1, error: 0 });
    expect(follower.said(/^W/)).toEqual([
      'W /api/v1/services: the cluster was restored: its version is 40 after 100; next try now',
    ]);
  });

  it('is listed after some silence when the watch stays open', async () => {
    const [server, follower] = await followed();
    server.version = '99';
    server.names = ['web'];
    await until('the deletion', () => !follower.has('old'));
    expect(follower.watch.relists).toBe(1);
  });

  it('is listed after a bookmark or an event with a lower version, which is not applied', async () => {
    const [server, follower] = await followed(QUIET);
    server.version = '20';
    server.watches[0]!.response.write(eventText('BOOKMARK', '', '20'));
    await until('the list', () => follower.watch.relists === 1);
    await until('the watch', () => server.watches.length === 2);
    // The version of the event, before it: a recheck that finds a lower one would list once more.
    server.version = '21';
    server.watches[1]!.response.write(eventText('ADDED', 'ancient', '7'));
    server.watches[1]!.response.write(eventText('ADDED', 'new', '21'));
    await until('the new one', () => follower.has('new'));
    expect(follower.has('ancient')).toBe(false);
    expect(follower.watch).toMatchObject({ version: '21', rejected: 1 });
  });

  it('is not seen in a version that is no number, from which no watch continues', async () => {
    const [server, follower] = await followed(QUIET);
    server.watches[0]!.response.write(eventText('BOOKMARK', '', 'abc'));
    server.watches[0]!.response.write(eventText('ADDED', 'new', 'abc'));
    await until('the new one', () => follower.has('new'));
    expect(follower.watch.version).toBe('100');
    server.endWatch();
    await until('the next watch', () => server.watches.length === 2);
    expect(server.watches[1]!.version).toBe('100');
  });

  it('is not seen in a cache that lags: what is gone does not return, and no list follows', async () => {
    const [server, follower] = await followed();
    server.watches[0]!.response.write(eventText('DELETED', 'old', '101'));
    await until('the deletion', () => !follower.has('old'));
    server.version = '101';
    server.cachedVersion = '60';
    server.endWatch();
    await until('some probes', () => server.count('proof') >= 4);
    expect(server.count('list')).toBe(1);
    expect(follower.has('old')).toBe(false);
    expect(follower.watch.restarts.restored).toBe(0);
  });

  it('is not seen without proof: while only the cache answers, all stays', async () => {
    const [server, follower] = await followed(QUIET);
    server.version = '40';
    server.names = [];
    server.isStorageDown = true;
    server.endWatch();
    await until('some tries', () => server.count('proof') >= 3);
    expect(follower.has('web')).toBe(true);
    expect(follower.watch.isConnected).toBe(true);
    server.isStorageDown = false;
    await until('the list', () => follower.objects.size === 0);
    expect(follower.watch.restarts.restored).toBe(1);
  });

  it('costs one proof in some time while the cache answers with a lower version', async () => {
    const [server, follower] = await followed({ ...QUIET, recheckMs: 60_000 });
    server.cachedVersion = '60';
    for (let round = 2; round <= 6; round++) {
      server.endWatch();
      await until('the next watch', () => server.watches.length === round);
      await until('the proof', () => server.count('proof') === 1);
    }
    expect(server.asked).toEqual(['list', 'probe', 'proof']);
    expect(follower.watch.relists).toBe(0);
  });

  it('is seen in a list, too, which is read once more', async () => {
    const [server, follower] = await followed(QUIET);
    const gone = { type: 'ERROR', object: { code: 410, message: 'too old resource version' } };
    server.version = '40';
    server.watches[0]!.response.write(`${JSON.stringify(gone)}\n`);
    await until('the watch', () => server.watches.length === 2);
    expect(server.watches[1]!.version).toBe('40');
    expect(follower.watch.restarts).toMatchObject({ gone: 1, restored: 1 });
    expect(server.asked).toEqual(['list', 'list', 'list']);
  });
});

describe('a watch that ended at its time', () => {
  it('is followed by the next without a check', async () => {
    const server = await new ScriptedServer().start();
    // Whatever it lasts, it is the time that was asked for.
    const pace = { ...QUIET, watchSeconds: 0 };
    new Follower(server.url, { pace }).start();
    await until('the watch', () => server.watches.length === 1);
    server.endWatch();
    await until('the next watch', () => server.watches.length === 2);
    expect(server.asked).toEqual(['list']);
  });
});
