import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  endpointsObject,
  HEADLESS,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import {
  countOf,
  isSameSlice,
  projectEndpoints,
  projectEndpointSlice,
  projectService,
  serviceKeyOf,
} from './projections.js';

const rejected: string[] = [];
const reading = { names: 'hash', onRejected: (reason: string) => rejected.push(reason) } as const;
beforeEach(() => void rejected.splice(0));

describe('projectService', () => {
  const project = (fields: Parameters<typeof serviceObject>[0]) =>
    projectService(serviceObject(fields), reading);

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
    [{ namespace: 53 as unknown as string }, '53 is not a DNS label'],
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

describe('projectEndpoints', () => {
  const project = (object: ReturnType<typeof endpointsObject>) => projectEndpoints(object, reading);

  it('makes groups of each subset, with the ports of that subset', () => {
    const object = endpointsObject({
      namespace: 'shop',
      subsets: [
        {
          addresses: [{ ip: '10.1.0.1', hostname: 'Web-0' }, { ip: 'fd00::1' }, { ip: '10.1.0.2' }],
          ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        },
        { addresses: [{ ip: 'fd00::3' }], ports: [{ port: 53, protocol: 'UDP' }] },
      ],
    });
    const http = { ports: [{ name: 'http', protocol: 'tcp', port: 8080 }], numbers: [8080] };
    const zeros = '\x00'.repeat(13);
    expect(project(object)).toEqual({
      version: '',
      listNumber: 0,
      service: 'shop/web',
      groups: [
        {
          size: 4,
          bytes: '\x0a\x01\x00\x01\x0a\x01\x00\x02',
          labels: ['web-0', ''],
          ports: http,
        },
        { size: 16, bytes: `\xfd\x00${zeros}\x01`, labels: undefined, ports: http },
        {
          size: 16,
          bytes: `\xfd\x00${zeros}\x03`,
          labels: undefined,
          ports: { ports: [{ name: '', protocol: 'udp', port: 53 }], numbers: [53] },
        },
      ],
    });
  });

  it('leaves out addresses that are not ready or not valid, and logs the latter', () => {
    const object = endpointsObject({
      subsets: [{ addresses: [{ ip: 'here' }], notReadyAddresses: [{ ip: '10.1.0.9' }] }],
    });
    expect(project(object).groups).toEqual([]);
    expect(rejected).toEqual(['endpoint "here" is not an IP address']);
  });

  it('outsider 5: leaves out what is null in a list, and has the rest', () => {
    const addresses = [null, { ip: '10.1.0.1' }] as { ip: string }[];
    expect(project(endpointsObject({ subsets: [{ addresses }] })).groups.map(countOf)).toEqual([1]);
    const endpoints = [{ addresses: ['10.1.0.1'] }, null] as { addresses: string[] }[];
    const slice = Object.assign(sliceObject(), { endpoints });
    expect(projectEndpointSlice(slice, reading).groups.map(countOf)).toEqual([1]);
    expect(rejected).toEqual(['an address is null', 'an endpoint is null']);
  });

  it('names endpoints by their pods where it is to', () => {
    const labels = (kind: string) => {
      const addresses = [{ ip: '10.1.0.1', targetRef: { kind, name: 'web-x7' } }];
      const byPod = { ...reading, names: 'pod' } as const;
      return projectEndpoints(endpointsObject({ subsets: [{ addresses }] }), byPod).groups[0]
        ?.labels;
    };
    expect(labels('Pod')).toEqual(['web-x7']);
    expect(labels('Node')).toBeUndefined();
  });

  it('refuses an object whose name no service has', () => {
    expect(() => project(endpointsObject({ name: 'a.b' }))).toThrow('"a.b" is not a DNS label');
  });

  it('treats an object without subsets as one without endpoints', () => {
    const object = endpointsObject();
    delete object.subsets;
    expect(project(object).groups).toEqual([]);
  });

  it('uses 4,096 endpoints of an object, more than fit into an answer', () => {
    const addresses = Array.from({ length: 40_000 }, (_, i) => ({
      ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
    }));
    const { groups } = project(endpointsObject({ subsets: [{ addresses }] }));
    expect(groups.map(countOf)).toEqual([4_096]);
    expect(rejected).toEqual(['35904 more endpoints than 4096']);
  });

  it('uses 4,096 endpoints of all subsets together, and 256 subsets', () => {
    const addresses = Array.from({ length: 20 }, (_, i) => ({ ip: `10.0.0.${i}` }));
    const subsets = Array.from({ length: 300 }, () => ({ addresses }));
    const { groups } = project(endpointsObject({ subsets }));
    expect(groups.reduce((sum, group) => sum + countOf(group), 0)).toBe(4_096);
    expect(rejected).toEqual(['1024 more endpoints than 4096', '44 more subsets than 256']);
  });
});

describe('projectEndpointSlice with zones', () => {
  const zoned = (...zones: unknown[]) => {
    const endpoints = zones.map((zone, i) => ({
      addresses: [`10.0.0.${i}`],
      zone: zone as string,
    }));
    return sliceObject({ endpoints });
  };
  const project = (object: ReturnType<typeof sliceObject>, readsZones = true) =>
    projectEndpointSlice(object, { ...reading, readsZones });

  it('has a group for each zone, in lower case, in any order of endpoints', () => {
    const { groups } = project(zoned('Eu-1b', 'eu-1a', 'eu-1b', '', null));
    expect(groups.map(({ zone, bytes }) => [zone, bytes.length / 4])).toEqual([
      [undefined, 2],
      ['eu-1a', 1],
      ['eu-1b', 2],
    ]);
    const [one, other] = [zoned('a', 'b'), zoned('a', 'b')];
    other.endpoints!.reverse();
    expect(isSameSlice(project(one), project(other))).toBe(true);
    expect(isSameSlice(project(zoned('a', 'b')), project(zoned('b', 'a')))).toBe(false);
    expect(rejected).toEqual([]);
  });

  it('has an endpoint whose zone is no value of a label without a zone, and says so', () => {
    const { groups } = project(zoned('a b', 7, 'x'.repeat(64), '-a', 'a.', { toString: 1 }));
    expect(groups.map(({ zone, bytes }) => [zone, bytes.length / 4])).toEqual([[undefined, 6]]);
    expect(rejected).toHaveLength(6);
    expect(rejected[0]).toBe('endpoint 10.0.0.0: zone "a b" is not the value of a label');
  });

  it('does not store zones unless they are wanted', () => {
    const [group, ...others] = project(zoned('a', 'b', 7), false).groups;
    expect(Object.keys(group!).sort()).toEqual(['bytes', 'labels', 'ports', 'size']);
    expect([others, rejected]).toEqual([[], []]);
  });
});

it.each([
  [{ namespace: 'ns', labels: { 'kubernetes.io/service-name': 'web' } }, 'ns/web'],
  [{ namespace: 'ns', labels: {} }, ''],
  // Made text of, it would throw, and end the watch.
  [{ namespace: 'ns', labels: { 'kubernetes.io/service-name': { toString: 1 } } }, ''],
  [{ namespace: { toString: 1 }, labels: { 'kubernetes.io/service-name': 'web' } }, ''],
  [null, ''],
])('the service of a slice with the metadata %j has the key %j', (metadata, key) => {
  expect(serviceKeyOf({ metadata } as never)).toBe(key);
});
