import { once } from 'node:events';
import { request, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';

import { createHttpServer } from '../src/http-server.js';
import { createLog } from '../src/log.js';

/** More than the limit. */
const MANY = 128;
const OTHER_ADDRESS = '127.0.0.2';

let server: Server;
let close: () => Promise<void>;
let port: number;
let sockets: Socket[];
/** Turns of the event loop so far, and those in which a request came to its route. */
let turns: number;
let turnsOfRequests: number[];
beforeEach(async () => {
  sockets = [];
  turns = 0;
  turnsOfRequests = [];
  ({ server, close } = createHttpServer({
    purpose: 'sample',
    log: createLog({ name: 'test', verbosity: 0, write: () => undefined }),
    routes: (app) => {
      app.all('/readiness', (_request, response) => void response.send('ok\n'));
      app.all('/hang', () => undefined);
      app.all('/turn', (_request, response) => {
        turnsOfRequests.push(turns);
        response.send('ok\n');
      });
    },
  }));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  port = (server.address() as AddressInfo).port; // listening on TCP
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await close();
});

/** Connections of one client that send these bytes and are silent from then on. */
async function open(count: number, bytes: string, localAddress = '127.0.0.1'): Promise<Socket[]> {
  const opened = Array.from({ length: count }, () => {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    socket.on('error', () => {
      /* a reset is one way to be closed */
    });
    socket.resume();
    return socket;
  });
  sockets.push(...opened);
  await Promise.all(opened.map((socket) => once(socket, 'connect')));
  if (bytes !== '') for (const socket of opened) if (!socket.destroyed) socket.write(bytes);
  return opened;
}

/** A probe as the kubelet makes it: on a new connection. */
async function probe(localAddress = '127.0.0.1'): Promise<number> {
  return new Promise((resolve) => {
    const target = { host: '127.0.0.1', port, path: '/readiness', localAddress };
    const outgoing = request({ ...target, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    outgoing.on('error', () => resolve(0)).end();
  });
}

const probes = async (count: number, address?: string) => {
  const statuses = [];
  for (let i = 0; i < count; i++) statuses.push(await probe(address));
  return statuses;
};
const ALL_OK = Array.from({ length: 12 }, () => 200);
const HANG = 'GET /hang HTTP/1.1\r\nHost: x\r\n\r\n';

describe('more connections than the limit', () => {
  // On a machine with other work, none is closed for being slow.
  beforeEach(() => {
    server.headersTimeout = server.requestTimeout = server.keepAliveTimeout = 0;
  });

  it.each([
    ['idle', ''],
    ['in the middle of their headers', 'GET /readi'],
    ['waiting for their answers', HANG],
  ])('fail no probe of the same client when they are %s', async (_what, bytes) => {
    await open(MANY, bytes);
    expect(await probes(12)).toEqual(ALL_OK);
  });

  it.each([
    ['idle', ''],
    ['waiting for their answers', HANG],
  ])('fail no probe of another client when they are %s', async (_what, bytes) => {
    await open(MANY, bytes, OTHER_ADDRESS);
    expect(await probes(12)).toEqual(ALL_OK);
  });

  it('are closed from the idlest, and the few of another client stay', async () => {
    const [honest] = await open(1, 'GET /readiness HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(honest!, 'data');
    const first = await open(64, '', OTHER_ADDRESS);
    const rest = await open(10, '', OTHER_ADDRESS);
    for (const socket of first.slice(0, 11)) if (!socket.destroyed) await once(socket, 'close');
    honest!.write('GET /readiness HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(honest!, 'data');
    expect([...first.slice(11), ...rest].filter((socket) => socket.destroyed)).toEqual([]);
  });
});

describe('a client that is slow', () => {
  it('has five seconds for its headers, ten for its request and thirty of silence', () => {
    const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = server;
    expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout }).toEqual({
      headersTimeout: 5_000,
      requestTimeout: 10_000,
      keepAliveTimeout: 15_000,
      timeout: 30_000,
    });
  });

  it('is closed in the middle of its headers once its time is over', async () => {
    server.headersTimeout = 1;
    const [socket] = await open(1, 'GET /readi');
    if (!socket!.destroyed) await once(socket!, 'close');
  });
});

const TURN = 'GET /turn HTTP/1.1\r\nHost: x\r\n\r\n';

it('requests that arrive together are handled each in a turn of its own', async () => {
  let next: NodeJS.Immediate | undefined;
  const counting = () => {
    turns++;
    next = setImmediate(counting);
  };
  counting();
  try {
    await open(40, TURN);
    await until(() => turnsOfRequests.length === 40);
  } finally {
    clearImmediate(next);
  }
  // The counter and the requests alternate: no turn has two but the first.
  expect(new Set(turnsOfRequests).size).toBeGreaterThanOrEqual(39);
});

describe('requests that are pipelined', () => {
  it.each([2, 300])('end their connection, unhandled: %d of them', async (count) => {
    const [socket] = await open(1, TURN.repeat(count));
    await once(socket!, 'close');
    expect(await probes(12)).toEqual(ALL_OK);
    expect(turnsOfRequests).toEqual([]);
  });

  it('fail no probe and take no turn, on any number of connections', async () => {
    const sockets = await open(MANY, TURN.repeat(100), OTHER_ADDRESS);
    expect(await probes(12)).toEqual(ALL_OK);
    for (const socket of sockets) if (!socket.destroyed) await once(socket, 'close');
    expect(turnsOfRequests).toEqual([]);
  });
});
