import type { KubeObject, Manifest } from '@kube-dns/apiserver';

/** The namespace of the services. */
export const NAMESPACE = 'shop';
const SUFFIX = `${NAMESPACE}.svc.cluster.local`;
const HEADLESS = 'db';
const PORTS = [{ name: 'sql', port: 5432, protocol: 'TCP' }];

/** The DNS name of the headless service. */
export const HEADLESS_NAME = `${HEADLESS}.${SUFFIX}`;
/** Its endpoints, each in its own slice. */
export const POD_ADDRESSES = ['10.244.9.1', '10.244.9.2', '10.244.9.3', '10.244.9.4'] as const;

/** The DNS name of a namespace without a service. */
export const EMPTY_NAMESPACE_NAME = 'empty.svc.cluster.local';

/** What an API server takes objects with. */
export interface ObjectWriter {
  apply(manifests: readonly Manifest[]): Promise<void>;
  delete(
    kind: 'Service' | 'EndpointSlice' | 'Endpoints',
    namespace: string,
    name: string,
  ): KubeObject;
}

/** The address that the service with this number has from the start. */
export function serviceAddress(number: number): string {
  return `10.96.100.${number}`;
}

/** The DNS name of the service with this number. */
export function serviceName(number: number): string {
  return `web-${number}.${SUFFIX}`;
}

/** The answers for each name of a cluster with this many services, as a steady client reports them. */
export function rightTexts(services: number): ReadonlyMap<string, string> {
  const numbers = Array.from({ length: services }, (_, i) => i + 1);
  const pairs = numbers.map((number) => [serviceName(number), serviceAddress(number)] as const);
  return new Map([
    ...pairs,
    [HEADLESS_NAME, POD_ADDRESSES.join(',')],
    [EMPTY_NAMESPACE_NAME, 'NODATA'],
  ]);
}

/** Writes the namespaces, the services from 1 to `services`, and the headless one. */
export async function fillCluster(writer: ObjectWriter, services: number): Promise<void> {
  const numbers = Array.from({ length: services }, (_, i) => i + 1);
  await writer.apply([
    ...[NAMESPACE, 'empty'].map((name) => {
      return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    }),
    ...numbers.map((number) => service(`web-${number}`, serviceAddress(number))),
    service(HEADLESS, 'None'),
    endpoints(POD_ADDRESSES),
    ...POD_ADDRESSES.map((address, i) => slice(i, address)),
  ]);
}

/** Deletes the service with this number. */
export function deleteService(writer: ObjectWriter, number: number): void {
  writer.delete('Service', NAMESPACE, `web-${number}`);
}

/** Gives the service with this number another address; for a moment there is no such service. */
export async function moveService(
  writer: ObjectWriter,
  number: number,
  address: string,
): Promise<void> {
  deleteService(writer, number);
  await writer.apply([service(`web-${number}`, address)]);
}

/** Deletes all pods of the headless service except the first `count`. */
export async function scaleHeadless(writer: ObjectWriter, count: number): Promise<void> {
  await writer.apply([endpoints(POD_ADDRESSES.slice(0, count))]);
  for (let i = count; i < POD_ADDRESSES.length; i++) {
    writer.delete('EndpointSlice', NAMESPACE, `${HEADLESS}-${i}`);
  }
}

function service(name: string, clusterIP: string): Manifest {
  const spec = { clusterIP, ports: PORTS, selector: { app: name } };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: NAMESPACE }, spec };
}

function endpoints(addresses: readonly string[]): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: HEADLESS, namespace: NAMESPACE },
    subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports: PORTS }],
  };
}

function slice(number: number, address: string): Manifest {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${HEADLESS}-${number}`,
      namespace: NAMESPACE,
      labels: { 'kubernetes.io/service-name': HEADLESS },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: PORTS,
  };
}
