import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** A server may listen on all addresses, so a port must be free on all. */
const ANY_HOST = '0.0.0.0';
const FIRST_PORT = 10_000;
/** Where the system takes the ports of clients from, unless it says otherwise. */
const FIRST_CLIENT_PORT = 32_768;
/** Far from each other begin processes that are started one after the other. */
const PORTS_PER_PROCESS = 61;
const MAX_TRIES = 100;

let given = 0;

/**
 * A port that is free for TCP and UDP. It is none of those that the system gives to clients, so that
 * none of these takes it before the server does; none that this process was given before, and hardly one
 * that another process is about to use.
 */
export async function freePort(): Promise<number> {
  const ports = firstClientPort() - FIRST_PORT;
  for (let tries = 0; ; tries++) {
    const port = FIRST_PORT + ((process.pid * PORTS_PER_PROCESS + given++) % ports);
    try {
      await bindBoth(port);
      return port;
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
    }
  }
}

function firstClientPort(): number {
  try {
    const [first] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t');
    return Math.max(Number(first), FIRST_PORT + 1_000) || FIRST_CLIENT_PORT;
  } catch {
    // no Linux
    return FIRST_CLIENT_PORT;
  }
}

async function bindBoth(port: number): Promise<void> {
  const server = createServer().listen(port, ANY_HOST);
  const socket = createSocket('udp4');
  try {
    await once(server, 'listening');
    socket.bind(port, ANY_HOST);
    await once(socket, 'listening');
  } finally {
    socket.close();
    server.close();
  }
}
