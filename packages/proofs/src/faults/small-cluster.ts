import type { KubeObject, Manifest } from '@kube-dns/apiserver';

const ZONE = 'cluster.local';
const NAMESPACE = 'shop';

/** The namespace that the services are in. */
export function shopNamespace(): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
}

/** The service with this number; its address is 10.96.100.N unless given. */
export function shopService(number: number, address = serviceAddress(number)): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `web-${number}`, namespace: NAMESPACE },
    spec: { clusterIP: address, ports: [{ name: 'http', port: 80 }] },
  };
}

/** The address that the service with this number has from the start. */
export function serviceAddress(number: number): string {
  return `10.96.100.${number}`;
}

/** The DNS name of the service with this number. */
export function serviceName(number: number): string {
  return `web-${number}.${NAMESPACE}.svc.${ZONE}`;
}

/** What an API server takes objects with. */
export interface ObjectWriter {
  apply(manifests: readonly Manifest[]): Promise<void>;
  delete(kind: 'Service', namespace: string, name: string): KubeObject;
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
  await writer.apply([shopService(number, address)]);
}

/** Writes the namespace and the services from 1 to `count`. */
export async function fillCluster(writer: ObjectWriter, count: number): Promise<void> {
  const services = Array.from({ length: count }, (_, i) => shopService(i + 1));
  await writer.apply([shopNamespace(), ...services]);
}
