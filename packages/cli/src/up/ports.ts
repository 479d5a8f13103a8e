import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import { codeOf, reasonOf, StartError } from '../errors.js';
import type { ContainerSpec, PortSpec } from './manifest.js';

/** The wildcard addresses: binding them fails when any address of the machine has the port in use. */
const WILDCARDS = ['0.0.0.0', '::'] as const;
type Wildcard = (typeof WILDCARDS)[number];

/**
 * Binds every declared port of the containers for a moment. Throws a StartError that names the container
 * and the first port that is in use or not allowed.
 */
export async function checkPorts(containers: readonly ContainerSpec[]): Promise<void> {
  for (const { name, ports } of containers) {
    for (const port of ports) {
      for (const address of WILDCARDS) await checkPort(name, port, address);
    }
  }
}

async function checkPort(name: string, port: PortSpec, address: Wildcard): Promise<void> {
  if (port.protocol === 'SCTP') return; // Node cannot open one
  try {
    await (port.protocol === 'UDP' ? bindUdp : bindTcp)(port.containerPort, address);
  } catch (error) {
    const code = codeOf(error);
    if (address === '::' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL')) return;
    const reason =
      code === 'EADDRINUSE'
        ? 'is already in use on this machine'
        : `cannot be opened: ${reasonOf(error)}`;
    const text = `port ${port.containerPort}/${port.protocol} ${reason}`;
    throw new StartError(`container ${name}: ${text}`, { cause: error });
  }
}

function bindUdp(port: number, address: Wildcard): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket =
      address === '::' ? createSocket({ type: 'udp6', ipv6Only: true }) : createSocket('udp4');
    socket.once('error', (error) => {
      socket.close();
      reject(error);
    });
    socket.bind({ port, address, exclusive: true }, () => socket.close(() => resolve()));
  });
}

function bindTcp(port: number, host: Wildcard): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, ipv6Only: host === '::', exclusive: true }, () => {
      server.close(() => resolve());
    });
  });
}
