import type { KubeObject } from '@kube-dns/apiserver';

const CREATED = '2026-01-05T08:30:00Z';
const PORTS = [{ name: 'http', port: 80, protocol: 'TCP' }];

function object(
  kind: string,
  name: string,
  namespace: string | undefined,
  rest: object,
  labels: Readonly<Record<string, string>> = {},
): KubeObject {
  const apiVersion = kind === 'EndpointSlice' ? 'discovery.k8s.io/v1' : 'v1';
  const known = { uid: `${namespace}/${name}`, resourceVersion: '', creationTimestamp: CREATED };
  const metadata = { name, ...(namespace !== undefined && { namespace }), ...known, labels };
  return { apiVersion, kind, metadata, ...rest };
}

export function namespace(name: string): KubeObject {
  return object('Namespace', name, undefined, {});
}

/** A service with these addresses; `None` for a headless one. */
export function service(name: string, addresses: string | readonly string[], space = 'shop') {
  const clusterIPs = [addresses].flat();
  const spec = { type: 'ClusterIP', clusterIP: clusterIPs[0], clusterIPs, ports: PORTS };
  return object('Service', name, space, { spec });
}

/** The same with another port. */
export function withPort(made: KubeObject, name: string): KubeObject & { spec: object } {
  const { spec } = made as KubeObject & { readonly spec: object };
  return { ...made, spec: { ...spec, ports: [{ name, port: 81, protocol: 'TCP' }] } };
}

export function alias(name: string, externalName: string): KubeObject {
  return object('Service', name, 'shop', { spec: { type: 'ExternalName', externalName } });
}

/** A slice of a service: each endpoint an address, or a hostname, `=` and an address, not ready after a `!`. */
export function slice(service: string, endpoints: readonly string[], number = 1): KubeObject {
  const fields = { addressType: 'IPv4', ports: PORTS, endpoints: endpoints.map(endpoint) };
  const labels = { 'kubernetes.io/service-name': service };
  return object('EndpointSlice', `slice-${number}`, 'shop', fields, labels);
}

function endpoint(text: string): object {
  const [, not, hostname, address] = /^(!?)(?:(\w+)=)?(.*)$/.exec(text)!;
  const conditions = { ready: not === '' };
  return { addresses: [address], conditions, ...(hostname !== undefined && { hostname }) };
}
