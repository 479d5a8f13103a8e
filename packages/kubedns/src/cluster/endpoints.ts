import { isIpAddress } from '@kube-dns/daemon';
import type { V1Endpoints } from '@kubernetes/client-node';
import type { EndpointSlice } from './endpoint-slice.js';

/**
 * Cuts an Endpoints object of the API down to slices, one for each subset: the addresses of a subset
 * share its ports. It belongs to the service of its own name. Addresses that are not ready are left out.
 */
export function projectEndpoints(object: V1Endpoints): EndpointSlice[] {
  const namespace = object.metadata?.namespace ?? '';
  const service = object.metadata?.name ?? '';
  return (object.subsets ?? []).map(({ addresses = [], ports = [] }) => ({
    namespace,
    service,
    endpoints: addresses
      .filter(({ ip }) => isIpAddress(ip))
      .map(({ ip, hostname = '' }) => ({ address: ip, hostname })),
    ports: ports.map((port) => ({
      name: port.name ?? '',
      protocol: (port.protocol ?? 'TCP').toLowerCase(),
      port: port.port,
    })),
  }));
}
