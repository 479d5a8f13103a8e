import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A port that is taken until it is closed. */
export interface BoundPort {
  readonly port: number;
  readonly close: () => Promise<unknown>;
}

export async function boundUdp(): Promise<BoundPort> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  return { port, close: () => once(socket.close(), 'close') };
}

export async function boundTcp(host = '127.0.0.1'): Promise<BoundPort> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, close: () => once(server.close(), 'close') };
}
