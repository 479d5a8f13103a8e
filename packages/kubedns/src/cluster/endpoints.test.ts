import { describe, expect, it } from '@jest/globals';
import { endpointsObject } from '../../test/support/objects.js';
import { projectEndpoints } from './endpoints.js';
import { countOf } from './packed-addresses.js';

const rejected: string[] = [];
const project = (object: ReturnType<typeof endpointsObject>) =>
  projectEndpoints(object, { names: 'hash', onRejected: (reason) => rejected.push(reason) });

describe('projectEndpoints', () => {
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

  it('names endpoints by their pods where it is to', () => {
    const labels = (kind: string) => {
      const addresses = [{ ip: '10.1.0.1', targetRef: { kind, name: 'web-x7' } }];
      const reading = { names: 'pod', onRejected: () => undefined } as const;
      return projectEndpoints(endpointsObject({ subsets: [{ addresses }] }), reading).groups[0]
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
    rejected.length = 0;
    const { groups } = project(endpointsObject({ subsets: [{ addresses }] }));
    expect(groups.map(countOf)).toEqual([4_096]);
    expect(rejected).toEqual(['35904 more endpoints than 4096']);
  });

  it('uses 4,096 endpoints of all subsets together, and 256 subsets', () => {
    const addresses = Array.from({ length: 20 }, (_, i) => ({ ip: `10.0.0.${i}` }));
    const subsets = Array.from({ length: 300 }, () => ({ addresses }));
    rejected.length = 0;
    const { groups } = project(endpointsObject({ subsets }));
    expect(groups.reduce((sum, group) => sum + countOf(group), 0)).toBe(4_096);
    expect(rejected).toEqual(['1024 more endpoints than 4096', '44 more subsets than 256']);
  });
});
