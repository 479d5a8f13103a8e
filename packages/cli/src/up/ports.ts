import { createSocket } from 'node:dgram';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename } from 'node:path';
import { shownText } from '@kube-dns/base';
import { codeOf, reasonOf, StartError } from '../errors.js';
import type { ContainerSpec, PortSpec } from './manifest.js';

/** The wildcard addresses: binding them fails when any address of the machine has the port in use. */
const WILDCARDS = ['0.0.0.0', '::'] as const;
type Wildcard = (typeof WILDCARDS)[number];

/**
 * Binds every declared port of the containers for a moment. Throws a StartError that names the container and the first port that
 * is not allowed or in use, who has it, and how to use others.
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
        ? `is already in use on this machine${ownerText(port)}; --port-offset=1000 adds 1000 to all ports`
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

/** Who has a port, as the end of a sentence; empty where this machine does not say it. */
function ownerText({ containerPort, protocol }: PortSpec): string {
  const owner = portOwner(containerPort, protocol === 'UDP' ? 'udp' : 'tcp');
  return owner === undefined ? '' : ` by ${owner}`;
}

/** The state of a TCP socket that listens, in /proc/net/tcp. */
const LISTENS = '0A';

/**
 * The process that has a port: `NAME (process ID)`, of another user only `a process of the user with ID N`. Read from `proc`, which
 * is that of Linux; undefined elsewhere, and where nothing has it.
 */
export function portOwner(
  port: number,
  protocol: 'tcp' | 'udp',
  proc = '/proc',
): string | undefined {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const sockets = [protocol, `${protocol}6`]
    .flatMap((name) => linesOf(`${proc}/net/${name}`))
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, local, , state]) => local?.endsWith(hex) && (protocol === 'udp' || state === LISTENS),
    );
  const links = new Set(sockets.map((fields) => `socket:[${fields[9]}]`));
  const [user] = sockets.map((fields) => fields[7]);
  if (user === undefined) return undefined;
  for (const id of namesIn(proc).filter((name) => /^\d+$/.test(name))) {
    if (namesIn(`${proc}/${id}/fd`).some((fd) => links.has(linkOf(`${proc}/${id}/fd/${fd}`)))) {
      return `${programOf(`${proc}/${id}/cmdline`)} (process ${id})`;
    }
  }
  return `a process of the user with ID ${user}`;
}

/** The options of Node with which a file is loaded before the script. */
const TAKES_A_FILE = /^(--import|--require|-r|--loader)$/;

/** The name of a program by its command line; of what Node runs also that. */
function programOf(file: string): string {
  const [name = '', ...words] = (linesOf(file)[0] ?? '').split('\0').map((word) => basename(word));
  const isScript = (word: string, at: number) =>
    !word.startsWith('-') && !TAKES_A_FILE.test(words[at - 1] ?? '');
  const script = name === 'node' ? words.find(isScript) : undefined;
  return shownText([name || 'a program', script ?? []].flat().join(' '));
}

// A process may end while it is looked at, and may be another user's: then there is nothing to read.

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return []; // see above
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // see above
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // see above
  }
}
