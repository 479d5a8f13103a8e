import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { MeasureError } from '@kube-dns/bench';

const HOST = '127.0.0.1';
/** Below what Linux gives to sockets that name no port: clients of a proof cannot take it meanwhile. */
const FIRST = 12_000;
const LAST = 31_999;
const ATTEMPTS = 100;

/** A port that was free for TCP and UDP a moment ago, and that no client is given by the system. */
export async function freeServicePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    if (await isFree(port)) return port;
  }
  throw new MeasureError(`no free port between ${FIRST} and ${LAST}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const socket = createSocket('udp4');
  try {
    server.listen({ port, host: HOST, exclusive: true });
    await once(server, 'listening');
    socket.bind({ port, address: HOST, exclusive: true });
    await once(socket, 'listening');
    return true;
  } catch {
    // taken: another one is as good
    return false;
  } finally {
    server.close();
    socket.close();
  }
}
