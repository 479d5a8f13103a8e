import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort } from '@kube-dns/testkit';

/** A port that is taken until it is closed, over one protocol: a client has it over none. */
export interface BoundPort {
  readonly port: number;
  readonly close: () => Promise<unknown>;
}

export async function boundUdp(): Promise<BoundPort> {
  const port = await freePort();
  const socket = createSocket('udp4').bind(port, '127.0.0.1');
  await once(socket, 'listening');
  return { port, close: () => once(socket.close(), 'close') };
}

export async function boundTcp(host = '127.0.0.1'): Promise<BoundPort> {
  const port = await freePort();
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  return { port, close: () => once(server.close(), 'close') };
}
