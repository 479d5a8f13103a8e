import type { RequestListener, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { constants, createGzip, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { ApiClient, loadKubeConfig } from '../src/watch/api-client.js';
import { closeAll, eventText, Follower, listText, owned, rawServer } from './support/follower.js';

afterEach(closeAll);

const MIB = 1024 * 1024;
const GZIP = { 'content-encoding': 'gzip' };
const PATH = '/api/v1/services';

/** Follows a server that sends its lists in this way, and events as `onWatch` does. */
async function followerOf(
  list: RequestListener,
  onWatch: (response: ServerResponse) => void = (response) => response.flushHeaders(),
) {
  const url = await rawServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    if (query.has('watch')) onWatch(response);
    else list(request, response);
  });
  return new Follower(url, { pace: { listStallMs: 60_000 } }).start();
}

/** The body of the answer to one request. */
async function bodyOf(listener: RequestListener) {
  const config = loadKubeConfig({ kubecfgFile: '', masterUrl: await rawServer(listener) });
  const client = owned(new ApiClient(config, 'test', 60_000));
  const { signal } = new AbortController();
  return client.get({ path: PATH, query: new URLSearchParams(), signal });
}

describe('an answer that the server compressed', () => {
  it('is read as a list, and asked for', async () => {
    const names = Array.from({ length: 2_000 }, (_, i) => `s${i}`);
    const asked: (string | undefined)[] = [];
    const follower = await followerOf((request, response) => {
      asked.push(request.headers['accept-encoding']);
      response.writeHead(200, GZIP).end(gzipSync(listText(names)));
    });
    await until('the list', () => follower.synced === 1);
    expect(follower.objects.size).toBe(2_000);
    expect(asked).toEqual(['gzip']);
    expect(follower.said(/^W/)).toEqual([]);
  });

  it('has each event of a watch when the server flushes it', async () => {
    const gzip = createGzip();
    const follower = await followerOf(
      (_, response) => response.end(listText(['web'])),
      (response) => gzip.pipe(response.writeHead(200, GZIP)),
    );
    await until('the list', () => follower.synced === 1);
    for (const name of ['a', 'b', 'c']) {
      gzip.write(eventText('ADDED', name, '3'));
      gzip.flush(constants.Z_SYNC_FLUSH);
      await until(`the event of ${name}`, () => follower.has(name));
    }
    expect(follower.events).toEqual(['+default/web', '+default/a', '+default/b', '+default/c']);
  });

  it('ends with a line that never ends, and a list follows', async () => {
    // 64 KiB on the wire.
    const bomb = gzipSync(Buffer.alloc(64 * MIB + 1, 0x20));
    const asked: string[] = [];
    const follower = await followerOf(
      (_, response) => {
        asked.push('list');
        response.end(listText(['web']));
      },
      (response) => {
        asked.push('watch');
        if (asked.length > 2) response.write(eventText('ADDED', 'new', '2'));
        else response.writeHead(200, GZIP).write(bomb);
      },
    );
    await until('what follows', () => follower.has('new'));
    expect(asked).toEqual(['list', 'watch', 'list', 'watch']);
    expect(follower.said(/a line has more than 67108864 bytes; next try/)).toHaveLength(1);
    expect(follower.events).toEqual(['+default/web', '+default/new']);
    expect(follower.watch.restarts.garbled).toBe(1);
  });

  it('has a reason that is reported where it refuses', async () => {
    const message = 'wait until the compactor is done';
    const follower = await followerOf((_, response) => {
      response.writeHead(500, GZIP).end(gzipSync(JSON.stringify({ message })));
    });
    await until('the reason', () => follower.said(/HTTP 500: wait until the compactor/)[0]);
  });

  it('waits in the server while its content is not taken, though it expands a thousandfold', async () => {
    const bomb = gzipSync(Buffer.alloc(16 * MIB, ' '));
    expect(bomb.length).toBeLessThan(MIB / 32);
    const body = await bodyOf((_, response) => void response.writeHead(200, GZIP).end(bomb));
    let taken = 0;
    let largest = 0;
    let waiting = 0;
    for await (const { bytes } of body) {
      taken += bytes.length;
      largest = Math.max(largest, bytes.length);
      await setImmediate();
      waiting = Math.max(waiting, body.contentBytes - taken);
    }
    expect(taken).toBe(16 * MIB);
    expect(body.receivedBytes).toBe(bomb.length);
    expect(largest).toBeLessThanOrEqual(64 * 1024);
    expect(waiting).toBeLessThanOrEqual(64 * 1024);
  });

  it('ends with its connection when its reader leaves', async () => {
    let isClosed = false;
    const body = await bodyOf((_, response) => {
      response.once('close', () => (isClosed = true));
      response.writeHead(200, GZIP).write(gzipSync(Buffer.alloc(MIB)));
    });
    for await (const { bytes } of body) if (bytes.length > 0) break;
    await until('the end of the connection', () => isClosed);
  });
});

describe('a list that is compressed', () => {
  const whole = gzipSync(listText(['web']));
  const cut = whole.subarray(0, -12);

  it.each<[string, RequestListener, RegExp]>([
    ['cut', (_, response) => response.writeHead(200, GZIP).end(cut), /not gzip: unexpected end/],
    [
      'broken off',
      (_, response) => response.writeHead(200, GZIP).write(cut, () => response.destroy()),
      /the connection broke/,
    ],
    [
      'garbage',
      (_, response) => response.writeHead(200, GZIP).end(listText(['web'])),
      /not gzip: incorrect header check/,
    ],
    [
      'followed by garbage',
      (_, response) => response.writeHead(200, GZIP).end(Buffer.concat([whole, Buffer.from('x')])),
      /not gzip/,
    ],
    [
      'something that was not asked for',
      (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end('x'),
      /the answer has the content encoding "br"/,
    ],
    [
      'compressed twice',
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(whole),
      /the answer has the content encoding "gzip, gzip"/,
    ],
  ])('and %s ends with a reason, and is tried again', async (_what, bad, reason) => {
    let lists = 0;
    const list: RequestListener = (request, response) => {
      if (++lists === 1) bad(request, response);
      else response.writeHead(200, GZIP).end(whole);
    };
    const follower = await followerOf(list);
    await until('the good one', () => follower.synced === 1);
    expect(follower.said(/^W/)).toHaveLength(1);
    expect(follower.said(/^W/)[0]).toMatch(reason);
  });
});
