import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort, needsIpv6, ownedBy, TcpClient, UdpClient, unless } from '@kube-dns/testkit';
import { decodeMessage, EVERY_ADDRESS } from '@kube-dns/wire';
import { type Answerer, NO_ANSWER_YET } from '../src/answerer.js';
import { BatchEngine } from '../src/batch/batch-engine.js';
import { AF_INET, AF_INET6, SOCK_DGRAM } from '../src/batch/constants.js';
import { loadLibc } from '../src/batch/libc.js';
import { listen } from '../src/listener.js';
import type { UdpEngine } from '../src/udp-engine.js';
import { ENGINES, NO_BATCH } from './engines.js';
import { replyTo } from './messages.js';
import { answers, oneAddress, question } from './udp-listener.js';

const EAFNOSUPPORT = 97;
const EADDRINUSE = 98;
const opened = ownedBy(afterEach);

async function serve(
  engine: UdpEngine,
  address: string,
  port = 0,
  answerer: Answerer = oneAddress,
) {
  const options = { answerer, address, port, onFailure: () => undefined, engine };
  return opened(await listen(options));
}

/** How many answers a client gets over UDP and TCP. */
async function answersAt(port: number, address: string): Promise<readonly number[]> {
  const clients = [
    opened(await UdpClient.connect(port, address)),
    opened(await TcpClient.connect(port, address)),
  ];
  const replies = await Promise.all(clients.map((client) => client.ask(question())));
  return replies.map((reply) => decodeMessage(reply).answers.length);
}

const withIpv6 = unless(needsIpv6(), describe);

withIpv6.each(ENGINES)('listeners of both families with the engine %s', (_name, engine) => {
  it('serve both over UDP and TCP', async () => {
    const { port } = await serve(engine, EVERY_ADDRESS);
    for (const address of ['::1', '127.0.0.1'])
      expect(await answersAt(port, address)).toEqual([1, 1]);
  });

  it('name a client over IPv4 by its IPv4 address, now and later', async () => {
    const seen: string[] = [];
    const deferring = answers((query, _out, client) => {
      seen.push(client.address);
      const reply = client.defer();
      seen.push(reply.address);
      const message = replyTo(Buffer.from(query.bytes.subarray(0, query.length)));
      setImmediate(() => reply.send(message, message.length));
      return NO_ANSWER_YET;
    });
    const { port } = await serve(engine, EVERY_ADDRESS, 0, deferring);
    for (const address of ['::1', '127.0.0.1']) {
      await answersAt(port, address);
      expect(seen.splice(0)).toEqual([address, address, address, address]);
    }
  });

  it('share a port when each has one family', async () => {
    const { port } = await serve(engine, '0.0.0.0');
    await serve(engine, '::', port);
    for (const address of ['::1', '127.0.0.1'])
      expect(await answersAt(port, address)).toEqual([1, 1]);
  });

  it.each(['0.0.0.0', '::'])('do not start when %s has the port for UDP', async (taken) => {
    const socket = opened(
      createSocket({ type: taken === '::' ? 'udp6' : 'udp4', ipv6Only: taken === '::' }),
    );
    socket.bind(0, taken);
    await once(socket, 'listening');
    const { port } = socket.address();
    await expect(serve(engine, EVERY_ADDRESS, port)).rejects.toThrow(
      `cannot listen on :${port} over UDP: address already in use`,
    );
  });

  it.each(['0.0.0.0', '::'])('do not start when %s has the port for TCP', async (taken) => {
    const server = opened(createServer());
    // Free for UDP, too.
    const port = await freePort();
    server.listen({ port, host: taken, ipv6Only: taken === '::' });
    await once(server, 'listening');
    await expect(serve(engine, EVERY_ADDRESS, port)).rejects.toThrow(
      `cannot listen on :${port} over TCP: address already in use`,
    );
  });
});

unless(NO_BATCH, it)('a system without IPv6 has listeners of IPv4 alone', async () => {
  const libc = await loadLibc();
  let refusals = 0;
  const engine = new BatchEngine({
    ...libc,
    socket: (family, ...rest) => {
      if (family !== AF_INET6) return libc.socket(family, ...rest);
      refusals++;
      return -1;
    },
    errno: () => EAFNOSUPPORT,
  });
  const { port } = await serve(engine, EVERY_ADDRESS);
  expect(refusals).toBe(1);
  expect(await answersAt(port, '127.0.0.1')).toEqual([1, 1]);
});

unless(NO_BATCH ?? needsIpv6(), it)(
  'every address is two sockets on one port, which is another when IPv4 does not have it',
  async () => {
    const libc = await loadLibc();
    const families = new Map<number, number>();
    const bound: (readonly [family: number | undefined, port: number])[] = [];
    let isTaken = false;
    const engine = new BatchEngine({
      ...libc,
      socket: (family, type, protocol) => {
        const fd = libc.socket(family, type, protocol);
        families.delete(fd);
        if ((type & SOCK_DGRAM) !== 0) families.set(fd, family);
        return fd;
      },
      bind: (fd, name, length) => {
        if (!families.has(fd)) return libc.bind(fd, name, length);
        const port = name[2]! * 256 + name[3]!;
        bound.push([families.get(fd), port]);
        isTaken = bound.length === 3;
        return isTaken ? -1 : libc.bind(fd, name, length);
      },
      errno: () => (isTaken ? EADDRINUSE : libc.errno()),
    });
    const { port } = await serve(engine, EVERY_ADDRESS);
    // Another program can have the second one, too.
    expect(bound.length).toBeGreaterThanOrEqual(7);
    // Each with a second one for limited clients.
    expect(bound.slice(-4)).toEqual([
      [AF_INET6, 0],
      [AF_INET6, port],
      [AF_INET, port],
      [AF_INET, port],
    ]);
    for (const address of ['::1', '127.0.0.1'])
      expect(await answersAt(port, address)).toEqual([1, 1]);
  },
);
