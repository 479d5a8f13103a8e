import { describe, expect, it } from '@jest/globals';
import { HEADLESS, serviceObject } from '../../test/support/objects.js';
import { projectService } from './service.js';

describe('projectService', () => {
  it('keeps what DNS needs', () => {
    const ports = [
      { name: 'http', port: 80, protocol: 'TCP' },
      { port: 53, protocol: 'UDP' },
    ];
    expect(projectService(serviceObject({ clusterIPs: ['10.0.0.1', 'FD00::0:1'], ports }))).toEqual(
      {
        namespace: 'default',
        name: 'web',
        kind: 'cluster-ip',
        addresses: ['10.0.0.1', 'fd00::1'],
        ports: [
          { name: 'http', port: 80, protocol: 'tcp' },
          { name: '', port: 53, protocol: 'udp' },
        ],
        externalName: '',
      },
    );
  });

  it('takes the one address of a server that knows no second family', () => {
    const object = serviceObject({ clusterIPs: ['10.0.0.9'] });
    delete object.spec!.clusterIPs;
    expect(projectService(object).addresses).toEqual(['10.0.0.9']);
  });

  it.each([
    ['headless', HEADLESS],
    ['headless', { clusterIPs: [''] }],
    ['external-name', { externalName: 'example.com' }],
  ])('tells that a service is %s', (kind, fields) => {
    expect(projectService(serviceObject(fields))).toMatchObject({ kind, addresses: [] });
  });
});
