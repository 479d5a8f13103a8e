import { describe, expect, it } from '@jest/globals';
import { HEADLESS, serviceObject } from '../../test/support/objects.js';
import { countOf } from './packed-addresses.js';
import { projectService } from './service.js';

const rejected: string[] = [];
const reading = { names: 'hash', onRejected: (reason: string) => rejected.push(reason) } as const;
const project = (fields: Parameters<typeof serviceObject>[0]) =>
  projectService(serviceObject(fields), reading);

describe('projectService', () => {
  it('stores the fields that DNS needs', () => {
    const ports = [
      { name: 'HTTP', port: 80, protocol: 'TCP' },
      { port: 53, protocol: 'UDP' },
    ];
    expect(project({ clusterIPs: ['10.0.0.1', 'FD00::0:1'], ports })).toEqual({
      version: '',
      listNumber: 0,
      kind: 'cluster-ip',
      ipv4: { size: 4, bytes: '\x0a\x00\x00\x01' },
      ipv6: { size: 16, bytes: `\xfd${'\x00'.repeat(14)}\x01` },
      ipv4Labels: undefined,
      ipv6Labels: undefined,
      ports: {
        ports: [
          { name: 'http', port: 80, protocol: 'tcp' },
          { name: '', port: 53, protocol: 'udp' },
        ],
        numbers: [80, 53],
      },
      alias: undefined,
    });
  });

  it('uses the one address of a server without dual stack', () => {
    const object = serviceObject({ clusterIPs: ['10.0.0.9'] });
    delete object.spec!.clusterIPs;
    expect(projectService(object, reading).ipv4.bytes).toBe('\x0a\x00\x00\x09');
  });

  it('uses 16 cluster addresses; the API allows two', () => {
    const clusterIPs = Array.from({ length: 40_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
    expect(countOf(project({ clusterIPs }).ipv4)).toBe(16);
    expect(rejected).toEqual(['39984 more cluster addresses than 16']);
  });

  it.each([
    ['headless', HEADLESS],
    ['headless', { clusterIPs: [''] }],
    ['external-name', { externalName: 'example.com' }],
  ])('detects that a service is %s', (kind, fields) => {
    expect(project(fields)).toMatchObject({ kind, ipv4: { bytes: '' }, ipv6: { bytes: '' } });
  });

  it.each([
    [{ name: 'a_b' }, '"a_b" is not a DNS label'],
    [{ name: 'Web' }, '"Web" is not a DNS label'],
    [{ namespace: 'x'.repeat(64) }, /^"x+" is not a DNS label$/],
    [{ clusterIPs: ['10.0.0.256'] }, 'clusterIP "10.0.0.256" is not an IP address'],
    [{ ports: [{ port: 65_536 }] }, 'port 65536 is not a port number'],
    [{ ports: [{ port: 1.5 }] }, 'port 1.5 is not a port number'],
    [{ ports: [{ port: -1 }] }, 'port -1 is not a port number'],
    [{ externalName: '' }, 'the service has no externalName'],
    [{ externalName: 'a..b' }, 'name "a..b": empty label'],
  ])('refuses %j', (fields, message) => {
    expect(() => project(fields)).toThrow(message);
  });
});
