import type { KubeObject } from '@kube-dns/apiserver';
import type { Expectation } from '../dns/expectation.js';
import { changedPodAddress, type ClusterPlan, serviceAddress, ZONE } from './cluster-plan.js';
import { namespaceObject, serviceObject, sliceObject, withAddress } from './objects.js';

/** Lists are in the order of names: the objects of this namespace are last. */
const NAMESPACE = 'zz-bench';
const CLUSTER_IP = 'zz-marker';
const HEADLESS = 'zz-marker-pods';
/** Numbers that no object of the plan and no change has. */
const ADDRESS = 60_000;
const POD_ADDRESS = 900_000;

/** A change of one object of each resource that shows in DNS. */
export interface Marker {
  readonly objects: readonly KubeObject[];
  readonly expectations: readonly Expectation[];
}

/** The same object under another name. */
export function moved<T extends KubeObject>(object: T, name: string, namespace = NAMESPACE): T {
  const uid = `00000000-0000-4000-8000-${Buffer.from(name).toString('hex').slice(0, 12)}`;
  return { ...object, metadata: { ...object.metadata, name, namespace, uid } };
}

/** The n-th state of the marker: a cluster service, a headless one with its slice, their namespace. */
export function markerObjects(plan: ClusterPlan, n: number): Marker {
  const portName = `mark-${n}`;
  const address = changedPodAddress(POD_ADDRESS + n);
  const clusterIp = moved(serviceObject(plan, 0, { portName }), CLUSTER_IP);
  const headless = moved(serviceObject(plan, 0), HEADLESS);
  const slice = moved(sliceObject(plan, 0, { firstAddress: address }), `${HEADLESS}-0`);
  const namespace = namespaceObject(NAMESPACE);
  return {
    objects: [
      { ...namespace, metadata: { ...namespace.metadata, labels: { 'example.com/n': String(n) } } },
      withAddress(clusterIp, serviceAddress(ADDRESS)),
      withAddress(headless, 'None'),
      {
        ...slice,
        metadata: {
          ...slice.metadata,
          labels: { ...slice.metadata.labels, 'kubernetes.io/service-name': HEADLESS },
        },
      },
    ],
    expectations: [
      { name: `_${portName}._tcp.${CLUSTER_IP}.${NAMESPACE}.svc.${ZONE}`, type: 'SRV' },
      { name: `${HEADLESS}.${NAMESPACE}.svc.${ZONE}`, type: 'A', address },
    ],
  };
}
