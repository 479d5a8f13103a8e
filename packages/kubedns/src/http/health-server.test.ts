import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type HttpServer, startHttpServer } from '@kube-dns/daemon';
import { until } from '@kube-dns/testkit';
import { recordedLog } from '../../test/support/recorded-log.js';
import { dumpHandler } from './health-server.js';

const PIECE = 'x'.repeat(1_024);

let server: HttpServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
});

async function serve(dump: () => Iterable<string>): Promise<string> {
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    purpose: 'test',
    log: recordedLog(),
    routes: (app) => app.all('/cache', dumpHandler(dump)),
  });
  return `http://127.0.0.1:${server.port}/cache`;
}

/** A client that asks and does not read. */
async function askWithoutReading(): Promise<Socket> {
  const socket = connect(server!.port, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  socket.pause();
  socket.write('GET /cache HTTP/1.1\r\nHost: x\r\n\r\n');
  return socket;
}

/** Endless pieces, until the reader stops. */
class Endless {
  given = 0;
  isOver = false;
  *[Symbol.iterator](): Generator<string> {
    try {
      for (;;) {
        this.given++;
        yield PIECE;
      }
    } finally {
      this.isOver = true;
    }
  }
}

describe('a dump', () => {
  it('is the concatenated pieces, as plain text', async () => {
    const response = await fetch(await serve(() => ['{', '"a"', ':1}']));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await response.text()).toBe('{"a":1}');
  });

  it('is complete at any length', async () => {
    const pieces = Array.from({ length: 3_000 }, (_, i) => `${i}${PIECE}`);
    const text = await (await fetch(await serve(() => pieces))).text();
    expect(text === pieces.join('')).toBe(true);
  });

  it('lets others work between its chunks', async () => {
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    const url = await serve(() => Array.from({ length: 640 }, () => PIECE));
    setImmediate(count);
    await (await fetch(url)).text();
    isDone = true;
    expect(turns).toBeGreaterThan(20);
  });

  it('waits for a client that does not read, and ends when that one goes', async () => {
    const endless = new Endless();
    await serve(() => endless);
    const socket = await askWithoutReading();
    // It gives more in each turn of the loop until the buffers of both ends are full.
    let before = -1;
    let turns = 0;
    await until('it waits', () => {
      turns = endless.given === before ? turns + 1 : 0;
      before = endless.given;
      return before > 0 && turns === 20;
    });
    expect(endless.isOver).toBe(false);
    socket.destroy();
    await until('its end', () => endless.isOver);
  });

  it('is made for one client at a time', async () => {
    const endless = new Endless();
    let isEndless = true;
    const url = await serve(() => (isEndless ? endless : ['short']));
    const socket = await askWithoutReading();
    await until('a dump', () => endless.given > 0);
    const refused = await fetch(url);
    expect([refused.status, await refused.text()]).toEqual([429, 'another dump is in progress\n']);
    isEndless = false;
    socket.destroy();
    await until('the place is free', async () => (await fetch(url)).status === 200);
  });

  it('is 500 with the reason when it cannot be begun', async () => {
    const url = await serve(() => {
      throw new Error('no memory');
    });
    for (let i = 0; i < 2; i++) {
      const response = await fetch(url);
      expect([response.status, await response.text()]).toEqual([500, 'Error: no memory\n']);
    }
  });

  it('is cut off when it cannot be finished', async () => {
    const url = await serve(function* () {
      for (let i = 0; i < 100; i++) yield PIECE;
      throw new Error('no memory');
    });
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
  });
});
