import type { JsonObject, KubeObject } from '../object.js';
import {
  requirePort,
  setPortDefaults,
  validateEndpointNames,
  validatePorts,
  type EndpointPort,
} from './endpoint-fields.js';
import { invalidValue, required, type FieldError } from './field-error.js';
import { parseIp, refuseSpecialIp } from './ip.js';
import { refuseSubdomain } from './names.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';
import { OBJECT_REFERENCE, type Shape } from './shape.js';

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

const PORTS: Shape = {
  list: { fields: { name: 'string', port: 'int', protocol: 'string', appProtocol: 'string' } },
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
  for (const [i, item] of addresses.entries()) {
    errors.push(...validateAddress(item, `${path}.addresses[${i}]`));
  }
  for (const [i, item] of notReadyAddresses.entries()) {
    errors.push(...validateAddress(item, `${path}.notReadyAddresses[${i}]`));
  }
  if (ports.length > 1) {
    for (const [i, port] of ports.entries()) {
      if (!port.name) errors.push(required(`${path}.ports[${i}].name`));
    }
  }
  errors.push(...requirePort(ports, `${path}.ports`), ...validatePorts(ports, `${path}.ports`));
  return errors;
}

function summary({ subsets = [] }: Endpoints): string {
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    addresses.flatMap(({ ip }) => {
      const host = ip.includes(':') ? `[${ip}]` : ip;
      return ports.length === 0 ? [ip] : ports.map(({ port }) => `${host}:${port ?? ''}`);
    }),
  );
  if (all.length === 0) return '<none>';
  const shown = all.slice(0, 3).join(',');
  return all.length > 3 ? `${shown} + ${all.length - 3} more...` : shown;
}

/** The table entry of Endpoints. */
export const endpointsKind: ResourceKind<Endpoints> = {
  ...PLAIN_KIND,
  group: '',
  kind: 'Endpoints',
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  createsOnUpdate: true,
  refuseName: refuseSubdomain,
  shape: {
    subsets: {
      list: { fields: { addresses: ADDRESSES, notReadyAddresses: ADDRESSES, ports: PORTS } },
    },
  },
  columns: [
    NAME_COLUMN,
    column('Endpoints', 'Addresses and ports that are ready.', summary),
    AGE_COLUMN,
  ],

  setDefaults({ subsets = [] }) {
    for (const { ports = [] } of subsets) setPortDefaults(ports);
  },
  validate: ({ subsets = [] }) =>
    subsets.flatMap((subset, i) => validateSubset(subset, `subsets[${i}]`)),
};
