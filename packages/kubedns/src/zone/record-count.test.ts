import { describe, expect, it } from '@jest/globals';
import { Cluster } from '../../test/support/cluster.js';
import { HEADLESS, serviceObject, sliceObject } from '../../test/support/objects.js';

describe('countRecords', () => {
  it('counts the records of each type', () => {
    const cluster = new Cluster();
    const ports = [{ name: 'http', port: 80 }, { port: 81 }];
    const clusterIPs = ['10.0.0.1', 'fd00::1'];
    cluster.services.put(serviceObject({ name: 'own', clusterIPs, ports }));
    cluster.services.put(serviceObject({ name: 'ext', externalName: 'example.com' }));
    cluster.services.put(serviceObject({ name: 'lit', externalName: '192.0.2.1' }));
    cluster.services.put(serviceObject({ name: 'db', ...HEADLESS }));
    const endpoints = ['10.1.0.1', '10.1.0.2'];
    cluster.endpointSlices.put(sliceObject({ name: 'db-1', service: 'db', endpoints, ports }));
    cluster.endpointSlices.put(sliceObject({ name: 'own-1', service: 'own', endpoints, ports }));
    expect(cluster.zone.countRecords()).toEqual({ A: 4, AAAA: 1, CNAME: 1, SRV: 3, PTR: 4 });
  });

  it('is nothing for a cluster without services, whatever endpoints it has', () => {
    const cluster = new Cluster();
    cluster.endpointSlices.put(sliceObject({ endpoints: ['10.1.0.1'] }));
    expect(cluster.zone.countRecords()).toEqual({ A: 0, AAAA: 0, CNAME: 0, SRV: 0, PTR: 0 });
  });
});
