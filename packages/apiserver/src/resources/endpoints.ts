import {
  duplicate,
  invalidValue,
  required,
  tooMany,
  unsupported,
  type FieldError,
} from '../errors.js';
import type { JsonObject, KubeObject } from '../object.js';
import { parseIp, refuseSpecialIp } from './ip.js';
import { refuseFqdn, refuseLabel, refuseSubdomain } from './names.js';
import { column, resourceKind } from './resource-kind.js';
import { OBJECT_REFERENCE, type Shape } from './shape.js';

/** The protocols that services, Endpoints and slices accept. */
export const PROTOCOLS: readonly string[] = ['TCP', 'UDP', 'SCTP'];

/** Why a number is not a port, or undefined when it is one. */
export function refusePort(port: number): string | undefined {
  return port >= 1 && port <= 65535 ? undefined : 'must be between 1 and 65535, inclusive';
}

const PORTS: Shape = {
  list: { fields: { name: 'string', port: 'int', protocol: 'string', appProtocol: 'string' } },
};

/** A port of Endpoints or of a slice. A slice may omit the number: all ports. */
export interface EndpointPort {
  name?: string;
  port?: number;
  protocol?: string;
  appProtocol?: string;
}

function setPortDefaults(ports: readonly EndpointPort[]): void {
  for (const port of ports) port.protocol ||= 'TCP';
}

/** Requires unique names, supported protocols and numbers in range. */
function validatePorts(ports: readonly EndpointPort[], field: string): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [i, { name = '', port, protocol = '' }] of ports.entries()) {
    const path = `${field}[${i}]`;
    const badName = name === '' ? undefined : refuseLabel(name);
    if (badName) errors.push(invalidValue(`${path}.name`, name, badName));
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
    names.add(name);
    const badPort = port === undefined ? undefined : refusePort(port);
    if (badPort) errors.push(invalidValue(`${path}.port`, port, badPort));
    if (!PROTOCOLS.includes(protocol)) {
      errors.push(unsupported(`${path}.protocol`, protocol, PROTOCOLS));
    }
  }
  return errors;
}

/** Checks host name (a DNS label) and node name of one endpoint; both may be missing. */
function validateEndpointNames(
  endpoint: { readonly hostname?: string; readonly nodeName?: string },
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const { hostname, nodeName } = endpoint;
  const badHost = hostname ? refuseLabel(hostname) : undefined;
  if (badHost) errors.push(invalidValue(`${path}.hostname`, hostname, badHost));
  const badNode = nodeName === undefined ? undefined : refuseSubdomain(nodeName);
  if (badNode) errors.push(invalidValue(`${path}.nodeName`, nodeName, badNode));
  return errors;
}

function shorten(items: readonly string[], whenEmpty: string): string {
  const shown = items.slice(0, 3).join(',') || whenEmpty;
  return items.length > 3 ? `${shown} + ${items.length - 3} more...` : shown;
}

/** One address of a subset. */
export interface EndpointAddress {
  ip: string;
  hostname?: string;
  nodeName?: string;
  targetRef?: JsonObject;
}

/** Addresses that serve the same ports. */
export interface EndpointSubset {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: EndpointPort[];
}

/** `core/v1.Endpoints`. */
export interface Endpoints extends KubeObject {
  subsets?: EndpointSubset[];
}

const ADDRESSES: Shape = {
  list: {
    fields: { ip: 'string', hostname: 'string', nodeName: 'string', targetRef: OBJECT_REFERENCE },
  },
};

function validateAddress(address: EndpointAddress, path: string): FieldError[] {
  // The shape makes sure that it is a string or missing.
  const text = (address.ip as string | undefined) ?? '';
  const ip = parseIp(text);
  const reason = ip ? refuseSpecialIp(ip) : 'must be a valid IP address';
  const errors = validateEndpointNames(address, path);
  if (reason) errors.push(invalidValue(`${path}.ip`, text, reason));
  return errors;
}

function validateSubset(subset: EndpointSubset, path: string): FieldError[] {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
  const errors: FieldError[] = [];
  if (addresses.length + notReadyAddresses.length === 0) {
    errors.push(required(path, 'must specify `addresses` or `notReadyAddresses`'));
  }
  for (const [field, list] of Object.entries({ addresses, notReadyAddresses })) {
    for (const [i, item] of list.entries()) {
      errors.push(...validateAddress(item, `${path}.${field}[${i}]`));
    }
  }
  if (ports.length > 1) {
    for (const [i, port] of ports.entries()) {
      if (!port.name) errors.push(required(`${path}.ports[${i}].name`));
    }
  }
  for (const [i, { port }] of ports.entries()) {
    if (port === undefined) errors.push(required(`${path}.ports[${i}].port`));
  }
  errors.push(...validatePorts(ports, `${path}.ports`));
  return errors;
}

function summary({ subsets = [] }: Endpoints): string {
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    addresses.flatMap(({ ip }) => {
      const host = ip.includes(':') ? `[${ip}]` : ip;
      return ports.length === 0 ? [ip] : ports.map(({ port }) => `${host}:${port ?? ''}`);
    }),
  );
  return shorten(all, '<none>');
}

/** The table entry of Endpoints. */
export const endpointsKind = resourceKind<Endpoints>({
  kind: 'Endpoints',
  names: ['endpoints', 'ep'],
  createsOnUpdate: true,
  shape: {
    subsets: {
      list: { fields: { addresses: ADDRESSES, notReadyAddresses: ADDRESSES, ports: PORTS } },
    },
  },
  columns: [column('Endpoints', 'Addresses and ports that are ready.', summary)],

  setDefaults({ subsets = [] }) {
    for (const { ports = [] } of subsets) setPortDefaults(ports);
  },
  validate: ({ subsets = [] }) =>
    subsets.flatMap((subset, i) => validateSubset(subset, `subsets[${i}]`)),
});

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

/** The table entry of EndpointSlices. */
export const endpointSliceKind = resourceKind<EndpointSlice>({
  group: 'discovery.k8s.io',
  kind: 'EndpointSlice',
  names: ['endpointslices'],
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
    ports: PORTS,
  },
  columns: [
    column('AddressType', 'Family of the addresses.', ({ addressType }) => addressType),
    column('Ports', 'Ports of every endpoint.', ({ ports }) =>
      shorten(
        ports.map(({ port }) => (port === undefined ? '*' : String(port))),
        '<unset>',
      ),
    ),
    column('Endpoints', 'Addresses of the endpoints.', ({ endpoints }) =>
      shorten(
        endpoints.flatMap(({ addresses }) => addresses),
        '<unset>',
      ),
    ),
  ],

  setDefaults(slice) {
    const partial: Partial<EndpointSlice> = slice;
    slice.endpoints = partial.endpoints ?? [];
    slice.ports = partial.ports ?? [];
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
});
