import type { ApiReader } from './api-reader.js';
import {
  type ClusterObjects,
  type ClusterPod,
  type ClusterService,
  type EndpointGroup,
  readEndpoints,
  readNamespace,
  readPod,
  readService,
  readSlice,
} from './cluster-objects.js';

/**
 * Reads the objects for the questions. Services must be readable; without slices Endpoints are used, without
 * namespaces those of the services, and without pods the addresses of the endpoints.
 */
export async function readCluster(reader: ApiReader): Promise<ClusterObjects> {
  const services: ClusterService[] = [];
  const endpoints: EndpointGroup[] = [];
  const namespaces = new Set<string>();
  const pods: ClusterPod[] = [];
  await reader.list('/api/v1/services', (item) => {
    const service = readService(item);
    if (service === undefined) return;
    services.push(service);
    namespaces.add(service.namespace);
  });
  await reader.listIfAllowed('/api/v1/namespaces', (item) => {
    const name = readNamespace(item);
    if (name !== undefined) namespaces.add(name);
  });
  const hasSlices = await reader.listIfAllowed('/apis/discovery.k8s.io/v1/endpointslices', (item) =>
    endpoints.push(...readSlice(item)),
  );
  if (!hasSlices) {
    await reader.listIfAllowed('/api/v1/endpoints', (item) =>
      endpoints.push(...readEndpoints(item)),
    );
  }
  await reader.listIfAllowed('/api/v1/pods', (item) => {
    const pod = readPod(item);
    if (pod !== undefined) pods.push(pod);
  });
  return { namespaces: [...namespaces].sort(), services, endpoints, pods };
}
