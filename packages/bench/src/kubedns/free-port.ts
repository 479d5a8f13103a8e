import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

const HOST = '127.0.0.1';

/** A port that was free for TCP and UDP a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = createSocket('udp4');
  try {
    socket.bind(port, HOST);
    await once(socket, 'listening');
    return port;
  } finally {
    socket.close();
    server.close();
  }
}
