import type { V1Endpoints } from '@kubernetes/client-node';
import { type EndpointReading, type EndpointSlice, groupEndpoints } from './endpoint-slice.js';
import { readPorts } from './ports.js';
import { checkLabels } from './service.js';

/**
 * Projects an Endpoints object of the API to the same fields as a slice: the addresses of a subset share
 * its ports. It belongs to the service of the same name. Addresses that are not ready are left out.
 */
export function projectEndpoints(object: V1Endpoints, reading: EndpointReading): EndpointSlice {
  const namespace = object.metadata?.namespace ?? '';
  const name = object.metadata?.name ?? '';
  checkLabels(namespace, name);
  return {
    version: '',
    listNumber: 0,
    service: `${namespace}/${name}`,
    groups: (object.subsets ?? []).flatMap(({ addresses, ports }) => {
      const endpoints = (addresses ?? []).map(({ ip, hostname, targetRef }) => ({
        address: ip,
        hostname,
        pod: targetRef?.kind === 'Pod' ? targetRef.name : undefined,
      }));
      return groupEndpoints(endpoints, readPorts(ports), reading);
    }),
  };
}
