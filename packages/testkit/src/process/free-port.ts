import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** A server may listen on all addresses, so the port must be free on all of them. */
const ANY_HOST = '0.0.0.0';
const FIRST_PORT = 10_000;
/** The first client port where the system does not report its range. */
const FIRST_CLIENT_PORT = 32_768;
/** Processes that start one after the other begin far from each other. */
const PORTS_PER_PROCESS = 61;
const MAX_TRIES = 5_000;

/** The start of the names of abstract sockets that stand for ports. */
const RESERVED = 'kube-dns-test-port-';

let tried = 0;

/**
 * A port that is free for TCP and UDP. It is outside the system's range of client ports, so no client takes
 * it before the server does. On Linux no process of this network gets it again while this one runs.
 */
export async function freePort(): Promise<number> {
  const ports = firstClientPort() - FIRST_PORT;
  for (let tries = 0; ; tries++) {
    const port = FIRST_PORT + ((process.pid * PORTS_PER_PROCESS + tried++) % ports);
    try {
      await reserve(port);
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

/** Has an abstract socket named after the port for as long as this process runs; rejects when another one has it. */
async function reserve(port: number): Promise<void> {
  if (process.platform !== 'linux') return;
  const holder = createServer().listen(`\0${RESERVED}${port}`);
  await once(holder, 'listening');
  holder.unref();
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
