import type { JsonObject, KubeObject } from '../object.js';
import {
  setPortDefaults,
  validateEndpointNames,
  validatePorts,
  type EndpointPort,
} from './endpoint-fields.js';
import { invalidValue, required, tooMany, unsupported, type FieldError } from './field-error.js';
import { parseIp, refuseSpecialIp } from './ip.js';
import { refuseFqdn, refuseSubdomain } from './names.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';
import { OBJECT_REFERENCE } from './shape.js';

/** One endpoint of a slice. */
export interface SliceEndpoint {
  addresses: string[];
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  hostname?: string;
  nodeName?: string;
  zone?: string;
  targetRef?: JsonObject;
  hints?: JsonObject;
  deprecatedTopology?: Record<string, string>;
}

/** `discovery.k8s.io/v1.EndpointSlice`. */
export interface EndpointSlice extends KubeObject {
  addressType: string;
  endpoints: SliceEndpoint[];
  ports: EndpointPort[];
}

/** Label of a slice with the name of its service. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

const ADDRESS_TYPES = ['IPv4', 'IPv6', 'FQDN'];

/** Source: pkg/apis/discovery/validation. */
const MAX_ADDRESSES = 100;
const MAX_ENDPOINTS = 1000;
const MAX_PORTS = 20_000;

function refuseAddress(text: string, addressType: string): string | undefined {
  if (addressType === 'FQDN') return refuseFqdn(text);
  const ip = parseIp(text);
  if (ip?.family !== addressType) return `must be a valid ${addressType} address`;
  return refuseSpecialIp(ip);
}

function validateEndpoint(
  endpoint: SliceEndpoint,
  addressType: string,
  path: string,
): FieldError[] {
  // The shape checks the type of a field, not its presence.
  const addresses = (endpoint.addresses as string[] | undefined) ?? [];
  const errors = validateEndpointNames(endpoint, path);
  if (addresses.length === 0) {
    errors.push(required(`${path}.addresses`, 'must contain at least 1 address'));
  }
  if (addresses.length > MAX_ADDRESSES) {
    errors.push(tooMany(`${path}.addresses`, addresses.length, MAX_ADDRESSES));
    return errors;
  }
  if (!ADDRESS_TYPES.includes(addressType)) return errors;
  for (const [i, address] of addresses.entries()) {
    const reason = refuseAddress(address, addressType);
    if (reason) errors.push(invalidValue(`${path}.addresses[${i}]`, address, reason));
  }
  return errors;
}

function shorten(items: readonly string[]): string {
  if (items.length === 0) return '<unset>';
  const shown = items.slice(0, 3).join(',');
  return items.length > 3 ? `${shown} + ${items.length - 3} more...` : shown;
}

/** The table entry of EndpointSlices. */
export const endpointSliceKind: ResourceKind<EndpointSlice> = {
  ...PLAIN_KIND,
  group: 'discovery.k8s.io',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  singular: 'endpointslice',
  refuseName: refuseSubdomain,
  shape: {
    addressType: 'string',
    endpoints: {
      list: {
        fields: {
          addresses: { list: 'string' },
          conditions: { fields: { ready: 'bool', serving: 'bool', terminating: 'bool' } },
          hostname: 'string',
          nodeName: 'string',
          zone: 'string',
          targetRef: OBJECT_REFERENCE,
          hints: 'object',
          deprecatedTopology: { map: 'string' },
        },
      },
    },
    ports: {
      list: { fields: { name: 'string', port: 'int', protocol: 'string', appProtocol: 'string' } },
    },
  },
  columns: [
    NAME_COLUMN,
    column('AddressType', 'Family of the addresses.', ({ addressType }) => addressType),
    column('Ports', 'Ports of every endpoint.', ({ ports }) =>
      shorten(ports.map(({ port }) => (port === undefined ? '*' : String(port)))),
    ),
    column('Endpoints', 'Addresses of the endpoints.', ({ endpoints }) =>
      shorten(endpoints.flatMap(({ addresses }) => addresses)),
    ),
    AGE_COLUMN,
  ],

  setDefaults(slice) {
    const given: Partial<EndpointSlice> = slice;
    slice.endpoints = given.endpoints ?? [];
    slice.ports = given.ports ?? [];
    setPortDefaults(slice.ports);
    for (const port of slice.ports) port.name ??= '';
  },
  validate(slice) {
    const errors: FieldError[] = [];
    const addressType = (slice.addressType as string | undefined) ?? '';
    if (addressType === '') errors.push(required('addressType'));
    else if (!ADDRESS_TYPES.includes(addressType)) {
      errors.push(unsupported('addressType', addressType, ADDRESS_TYPES));
    }
    if (slice.endpoints.length > MAX_ENDPOINTS) {
      return [...errors, tooMany('endpoints', slice.endpoints.length, MAX_ENDPOINTS)];
    }
    if (slice.ports.length > MAX_PORTS) {
      return [...errors, tooMany('ports', slice.ports.length, MAX_PORTS)];
    }
    for (const [i, endpoint] of slice.endpoints.entries()) {
      errors.push(...validateEndpoint(endpoint, addressType, `endpoints[${i}]`));
    }
    errors.push(...validatePorts(slice.ports, 'ports'));
    return errors;
  },
  validateUpdate(slice, previous) {
    if (slice.addressType === previous.addressType) return [];
    return [invalidValue('addressType', slice.addressType, 'field is immutable')];
  },
  generationOf: ({ metadata, endpoints, ports }) => ({
    labels: metadata.labels,
    endpoints,
    ports,
  }),
};
