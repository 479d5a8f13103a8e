import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** A server may listen on all addresses, so the port must be free on all of them. */
const ANY_HOST = '0.0.0.0';
const FIRST_PORT = 10_000;
/** The first client port where the system does not report its range. */
const FIRST_CLIENT_PORT = 32_768;
const PORTS_PER_BLOCK = 16;
/** Processes that start one after the other begin far from each other. */
const BLOCKS_PER_PROCESS = 7;
const MAX_TRIES = 5_000;

/** The start of the names of abstract sockets that stand for blocks of ports. */
const RESERVED = 'kube-dns-test-ports-';

/** What is left of the block that this file of tests has. */
let next = 0;
let end = 0;
/** Questions for a port come one after the other, also those of tests that run beside each other. */
let last: Promise<unknown> = Promise.resolve();

/**
 * A port that is free for TCP and UDP. It is outside the system's range of client ports, so no client takes
 * it before the server does. On Linux no test of this network gets it again while this process runs: what a
 * program of an earlier test sends to a server that is gone reaches no other server.
 */
export function freePort(): Promise<number> {
  const port = last.then(findPort);
  last = port.catch(() => undefined);
  return port;
}

async function findPort(): Promise<number> {
  for (let tries = 0; ; tries++) {
    if (next === end) await reserveBlock();
    const port = next++;
    try {
      await bindBoth(port);
      return port;
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
    }
  }
}

/** Takes the next block that nobody has; once all are taken, it shares one. */
async function reserveBlock(): Promise<void> {
  const blocks = Math.floor((firstClientPort() - FIRST_PORT) / PORTS_PER_BLOCK);
  for (let tries = 0; ; tries++) {
    const block = (process.pid * BLOCKS_PER_PROCESS + tries) % blocks;
    next = FIRST_PORT + block * PORTS_PER_BLOCK;
    end = next + PORTS_PER_BLOCK;
    try {
      await reserve(block);
      return;
    } catch {
      if (tries >= blocks) return;
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

/** Has an abstract socket named after the block for as long as this process runs; rejects when another one has it. */
async function reserve(block: number): Promise<void> {
  if (process.platform !== 'linux') return;
  const holder = createServer().listen(`\0${RESERVED}${block}`);
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
