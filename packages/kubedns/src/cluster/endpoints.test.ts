import { describe, expect, it } from '@jest/globals';
import { endpointsObject } from '../../test/support/objects.js';
import { projectEndpoints } from './endpoints.js';

describe('projectEndpoints', () => {
  it('makes a slice of each subset, with the ports of that subset', () => {
    const object = endpointsObject({
      namespace: 'shop',
      subsets: [
        {
          addresses: [{ ip: '10.1.0.1', hostname: 'web-0' }, { ip: '10.1.0.2' }],
          ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        },
        { addresses: [{ ip: 'fd00::3' }], ports: [{ port: 53, protocol: 'UDP' }] },
      ],
    });
    expect(projectEndpoints(object)).toEqual([
      {
        namespace: 'shop',
        service: 'web',
        endpoints: [
          { address: '10.1.0.1', hostname: 'web-0' },
          { address: '10.1.0.2', hostname: '' },
        ],
        ports: [{ name: 'http', protocol: 'tcp', port: 8080 }],
      },
      {
        namespace: 'shop',
        service: 'web',
        endpoints: [{ address: 'fd00::3', hostname: '' }],
        ports: [{ name: '', protocol: 'udp', port: 53 }],
      },
    ]);
  });

  it('leaves out addresses that are not ready or are none', () => {
    const object = endpointsObject({
      subsets: [{ addresses: [{ ip: 'here' }], notReadyAddresses: [{ ip: '10.1.0.9' }] }],
    });
    expect(projectEndpoints(object)[0]?.endpoints).toEqual([]);
  });

  it('takes an object without subsets for one without endpoints', () => {
    const object = endpointsObject();
    delete object.subsets;
    expect(projectEndpoints(object)).toEqual([]);
  });
});
