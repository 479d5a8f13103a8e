import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { becomesTrue } from '@kube-dns/testkit';
import { TcpCrowd } from './tcp-crowd.js';

const COUNT = 60;

let server: Server;
let sockets: Socket[];
let crowd: TcpCrowd;

beforeEach(async () => {
  sockets = [];
  crowd = new TcpCrowd();
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('data', (query) => socket.write(query));
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  await crowd.leave();
  for (const socket of sockets) socket.destroy();
  server.close();
});

const port = () => (server.address() as AddressInfo).port;

describe('a crowd of TCP clients', () => {
  it('is connected once each client has its answer, and stays connected', async () => {
    await crowd.open(port(), COUNT);
    expect([crowd.connected(), sockets.length]).toEqual([COUNT, COUNT]);
  });

  it('does not count clients that the server disconnected', async () => {
    await crowd.open(port(), COUNT);
    sockets[0]!.end();
    sockets[1]!.destroy();
    expect(await becomesTrue(() => crowd.connected() === COUNT - 2)).toBe(true);
  });

  it('is disconnected when it leaves, and can connect again', async () => {
    await crowd.open(port(), COUNT);
    await crowd.leave();
    expect(crowd.connected()).toBe(0);
    await crowd.open(port(), 1);
    expect(crowd.connected()).toBe(1);
  });
});
