import { Cluster } from '../src/cluster/cluster.js';
import type { Manifest } from '../src/object.js';
import { ObjectAccess } from '../src/object-access.js';
import { parseCidr } from '../src/resources/ip.js';
import { service } from './harness.js';

/** The creation time of every object in these tests. */
const NOW = Date.parse('2026-01-02T03:04:05.678Z');

/** The objects of a new cluster that is not served over HTTP. */
export function createObjects(v4 = '10.96.0.0/16'): ObjectAccess {
  const ranges = { IPv4: parseCidr(v4)!, IPv6: parseCidr('fd00:10:96::/112')! };
  const cluster = new Cluster({ ranges, clock: () => NOW, historyLimit: 100 });
  cluster.start('127.0.0.1', 6443);
  return new ObjectAccess(cluster);
}

/** The service `web` with one port, and with the given fields. */
export function webService(spec: object = {}, metadata: object = {}): Manifest {
  return service('web', spec, metadata);
}
