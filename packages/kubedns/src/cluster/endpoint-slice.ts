import { isIpAddress } from '@kube-dns/daemon';
import type { V1EndpointSlice } from '@kubernetes/client-node';
import type { Port } from './service.js';

/** One ready address of a service, with the hostname that its pod asked for. */
export interface Endpoint {
  readonly address: string;
  /** Empty where the pod has none. */
  readonly hostname: string;
}

/** The fields of an EndpointSlice that DNS needs. */
export interface EndpointSlice {
  readonly namespace: string;
  /** The service it belongs to; empty when it belongs to none. */
  readonly service: string;
  /** Ready endpoints only. */
  readonly endpoints: readonly Endpoint[];
  readonly ports: readonly Port[];
}

const SERVICE_LABEL = 'kubernetes.io/service-name';

/** Cuts an EndpointSlice of the API down; an endpoint without a `ready` condition is ready. */
export function projectEndpointSlice(object: V1EndpointSlice): EndpointSlice {
  return {
    namespace: object.metadata?.namespace ?? '',
    service: object.metadata?.labels?.[SERVICE_LABEL] ?? '',
    endpoints: readyEndpoints(object),
    ports: numberedPorts(object),
  };
}

function readyEndpoints(object: V1EndpointSlice): Endpoint[] {
  // Slices of names have no place in the schema, even where such a name looks like an address.
  if (object.addressType === 'FQDN') return [];
  const endpoints: Endpoint[] = [];
  for (const { addresses, conditions, hostname = '' } of object.endpoints ?? []) {
    if (conditions?.ready === false) continue;
    for (const address of addresses.filter(isIpAddress)) endpoints.push({ address, hostname });
  }
  return endpoints;
}

/** A port without a number stands for all ports, which no SRV record can say. */
function numberedPorts(object: V1EndpointSlice): Port[] {
  return (object.ports ?? []).flatMap(({ name = '', protocol = 'TCP', port }) =>
    typeof port === 'number' ? [{ name, protocol: protocol.toLowerCase(), port }] : [],
  );
}
