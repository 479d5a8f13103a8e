import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { symlinkSync, mkdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort, needsIpv6, ownedBy, TemporaryFolder, unless } from '@kube-dns/testkit';
import { type ContainerSpec, parsePod, type PortSpec } from './manifest.js';
import { checkPorts, portOwner } from './ports.js';

const own = ownedBy(afterEach);
/** The whole message, with this process where the machine has /proc. */
const inUse = (port: string) => {
  const owner = process.platform === 'linux' ? ` by node .* \\(process ${process.pid}\\)` : '';
  return new RegExp(
    `^container dnsmasq: port ${port} is already in use on this machine${owner}; --port-offset=1000 adds 1000 to all ports$`,
  );
};

function containersWith(...ports: { port: number; protocol: PortSpec['protocol'] }[]) {
  const list = ports.map((each) => `{ containerPort: ${each.port}, protocol: ${each.protocol} }`);
  const text = `kind: Pod
metadata: { name: p }
spec: { containers: [{ name: dnsmasq, ports: [${list.join(', ')}] }] }`;
  return parsePod(text, 'pod.yaml').containers satisfies readonly ContainerSpec[];
}

describe('the check of ports', () => {
  it('finds nothing wrong with free ports, and leaves them free', async () => {
    const port = await freePort();
    const containers = containersWith({ port, protocol: 'TCP' }, { port, protocol: 'UDP' });
    await checkPorts(containers);
    await checkPorts(containers);
  });

  const namesTcpPort = async (host: string) => {
    const server = createServer().listen(0, host);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      await expect(checkPorts(containersWith({ port, protocol: 'TCP' }))).rejects.toThrow(
        inUse(`${port}/TCP`),
      );
    } finally {
      server.close();
    }
  };
  it.each(['127.0.0.1', '0.0.0.0'])('names a TCP port in use on %s', namesTcpPort);
  unless(needsIpv6(), it)('names a TCP port in use on ::1', () => namesTcpPort('::1'));

  it('names a UDP port in use', async () => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const { port } = socket.address();
    try {
      await expect(checkPorts(containersWith({ port, protocol: 'UDP' }))).rejects.toThrow(
        inUse(`${port}/UDP`),
      );
    } finally {
      socket.close();
    }
  });
});

describe('the owner of a port', () => {
  const HEAD =
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
  const row = (local: string, state: string, inode: number) =>
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000   101        0 ${inode} 1 x`;

  /** A /proc with these rows of sockets and one process, 42. */
  function procWith(files: Readonly<Record<string, string>>, inode?: number): string {
    const folder = own(new TemporaryFolder());
    for (const name of ['net', '42', '42/fd']) mkdirSync(join(folder.path, name));
    for (const [name, text] of Object.entries(files)) folder.file(name, text);
    if (inode !== undefined) symlinkSync(`socket:[${inode}]`, join(folder.path, '42/fd/3'));
    return folder.path;
  }

  it('is the process that has its socket', () => {
    const cmdline = '/usr/sbin/avahi-daemon\0-s\0';
    const proc = procWith(
      { 'net/udp6': `${HEAD}\n${row('0:14E9', '07', 7)}`, '42/cmdline': cmdline },
      7,
    );
    expect(portOwner(5353, 'udp', proc)).toBe('avahi-daemon (process 42)');
    expect(portOwner(5353, 'tcp', proc)).toBeUndefined();
    expect(portOwner(5354, 'udp', proc)).toBeUndefined();
  });

  it('is named with what Node runs, without what a terminal would obey', () => {
    const cmdline = '/bin/node\0--flag\0--import\0/a/loaded.mjs\0/a/x\x1b[31m.cjs\0';
    const proc = procWith({ 'net/tcp': row('0100007F:0035', '0A', 9), '42/cmdline': cmdline }, 9);
    expect(portOwner(53, 'tcp', proc)).toMatch(/^node x\P{Cc}+\.cjs \(process 42\)$/u);
  });

  it('is only a user where its process cannot be read', () => {
    const proc = procWith({ 'net/tcp': row('00000000:0035', '0A', 9) }, 8);
    expect(portOwner(53, 'tcp', proc)).toBe('a process of the user with ID 101');
  });

  it('is no client that has the port by chance', () => {
    expect(
      portOwner(53, 'tcp', procWith({ 'net/tcp': row('00000000:0035', '01', 9) }, 9)),
    ).toBeUndefined();
  });

  it('is not known without /proc', () => {
    expect(portOwner(53, 'tcp', '/nonexistent')).toBeUndefined();
  });
});
