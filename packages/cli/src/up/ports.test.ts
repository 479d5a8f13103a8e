import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { freePort, needsIpv6, unless } from '@kube-dns/testkit';
import { parsePod, type ContainerSpec, type PortSpec } from './manifest.js';
import { checkPorts } from './ports.js';

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
        `container dnsmasq: port ${port}/TCP is already in use on this machine`,
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
        `container dnsmasq: port ${port}/UDP is already in use on this machine`,
      );
    } finally {
      socket.close();
    }
  });
});
