import type { EndpointSlice, KubeObject, Service } from '@kube-dns/apiserver';
import type { EndpointState, ServiceState } from './service-state.js';

const CREATED = '2026-01-05T08:30:00Z';

function metadataOf(name: string, namespace: string, labels: Record<string, string> = {}) {
  const uid = `${namespace}/${name}`;
  return { name, namespace, uid, resourceVersion: '', creationTimestamp: CREATED, labels };
}

/** A namespace, as the API server has it. */
export function namespaceObject(name: string): KubeObject & { spec: object; status: object } {
  const { uid, resourceVersion, creationTimestamp } = metadataOf(name, '');
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, uid, resourceVersion, creationTimestamp },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}

/** The Service of a state that is there. */
export function serviceObject(state: ServiceState): Service {
  const { kind, name, namespace, clusterIP, ipv6, portName, port, target } = state;
  const address = kind === 'headless' ? 'None' : clusterIP;
  const isDual = kind === 'address' && ipv6 !== undefined;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(name, namespace),
    spec:
      kind === 'alias'
        ? { type: 'ExternalName', externalName: target, sessionAffinity: 'None' }
        : {
            type: 'ClusterIP',
            clusterIP: address,
            clusterIPs: isDual ? [address, ipv6] : [address],
            ipFamilies: isDual ? ['IPv4', 'IPv6'] : ['IPv4'],
            ports: [{ name: portName, protocol: 'TCP', port, targetPort: port }],
            selector: { app: name },
            sessionAffinity: 'None',
          },
    status: { loadBalancer: {} },
  };
}

/** The name of the one slice that a headless service has. */
export function sliceName({ name }: ServiceState): string {
  return `${name}-slice`;
}

/** The EndpointSlice of a headless state that is there. */
export function sliceObject(state: ServiceState): EndpointSlice {
  const { name, namespace, portName, port, ready, unready } = state;
  const endpoint = ({ hostname, address }: EndpointState, isReady: boolean) => ({
    addresses: [address],
    conditions: { ready: isReady, serving: isReady, terminating: false },
    hostname,
  });
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: metadataOf(sliceName(state), namespace, {
      'kubernetes.io/service-name': name,
      'service.kubernetes.io/headless': '',
    }),
    addressType: 'IPv4',
    endpoints: [
      ...ready.map((each) => endpoint(each, true)),
      ...unready.map((each) => endpoint(each, false)),
    ],
    ports: [{ name: portName, protocol: 'TCP', port }],
  };
}
