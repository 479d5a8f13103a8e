import { beforeEach, describe, expect, it } from '@jest/globals';
import { readUint32 } from '@kube-dns/wire';
import { Cluster } from '../../test/support/cluster.js';
import { namespaceObject, serviceObject } from '../../test/support/objects.js';

let now: number;
let cluster: Cluster;
beforeEach(() => {
  now = 1_000_000;
  cluster = new Cluster('hash', () => now);
});

const serial = () => readUint32(cluster.zone.soaRdata, cluster.zone.soaRdata.length - 20);

describe('ClusterZone', () => {
  it('has the time of its last change for a serial', () => {
    expect(serial()).toBe(1_000);
    now += 5_000;
    expect(serial()).toBe(1_000);
    cluster.services.put(serviceObject());
    expect(serial()).toBe(1_005);
    now += 5_000;
    cluster.namespaces.put(namespaceObject('default'));
    expect(serial()).toBe(1_010);
  });

  it('never lets the serial fall, whatever the clock does', () => {
    now = 0;
    cluster.services.put(serviceObject());
    expect(serial()).toBe(1_000);
  });

  it('uses the number of a service that is gone for the next', () => {
    for (let i = 0; i < 5; i++) {
      const object = serviceObject({ name: `s${i}` });
      cluster.services.put(object);
      cluster.services.delete(object);
    }
    cluster.services.put(serviceObject({ name: 'last' }));
    expect(cluster.zone.namespaces.get('default')?.services.get('last')?.number).toBe(0);
  });

  it('leaves a namespace out whose name cannot be one', () => {
    cluster.namespaces.put(namespaceObject('n'.repeat(64)));
    expect(cluster.zone.namespaces.size).toBe(0);
    expect(cluster.rejected).toHaveLength(1);
  });
});
