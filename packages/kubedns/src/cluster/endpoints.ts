import type { V1Endpoints } from '@kubernetes/client-node';
import { CountLimit } from './count-limit.js';
import { endpointLimit, type EndpointSlice, groupEndpoints } from './endpoint-slice.js';
import type { ObjectReading } from './object-reading.js';
import { readPorts } from './ports.js';
import { checkLabels } from './service.js';

/** There is one for each set of ports: the API's controllers make a few. */
const MAX_SUBSETS = 256;

/**
 * Projects an Endpoints object of the API to the same fields as a slice: the addresses of a subset share
 * its ports. It belongs to the service of the same name. Addresses that are not ready are left out.
 */
export function projectEndpoints(object: V1Endpoints, reading: ObjectReading): EndpointSlice {
  const namespace = object.metadata?.namespace ?? '';
  const name = object.metadata?.name ?? '';
  checkLabels(namespace, name);
  const limit = endpointLimit();
  const subsetLimit = new CountLimit('subsets', MAX_SUBSETS);
  const groups = subsetLimit.take(object.subsets ?? []).flatMap(({ addresses, ports }) => {
    const endpoints = limit.take(addresses ?? []).map(({ ip, hostname, targetRef }) => ({
      address: ip,
      hostname,
      pod: targetRef?.kind === 'Pod' ? targetRef.name : undefined,
    }));
    return groupEndpoints(endpoints, readPorts(ports), reading);
  });
  limit.report(reading);
  subsetLimit.report(reading);
  return { version: '', listNumber: 0, service: `${namespace}/${name}`, groups };
}
