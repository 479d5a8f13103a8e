import { isDnsLabel, isIpAddress } from '@kube-dns/daemon';
import type { V1EndpointSlice } from '@kubernetes/client-node';
import type { EndpointNames } from '../config/naming.js';
import { dashedLabel } from '../zone/endpoint-name.js';
import type { Projection } from './object-store.js';
import {
  type AddressSize,
  IPV4_BYTES,
  IPV6_BYTES,
  packAddresses,
  type PackedAddresses,
} from './packed-addresses.js';
import { equalPorts, type PortList, readPorts } from './ports.js';
import { checkLabels } from './service.js';

/** Ready endpoints of one family that serve the same ports. */
export interface EndpointGroup extends PackedAddresses {
  /** The label of each endpoint, lower case, empty where it is generated; undefined when all are. */
  readonly labels: readonly string[] | undefined;
  ports: PortList;
}

/** The fields of an EndpointSlice, or of an Endpoints object, that DNS needs. */
export interface EndpointSlice extends Projection {
  /** `namespace/name` of the service it belongs to; empty when it belongs to none. */
  service: string;
  readonly groups: readonly EndpointGroup[];
}

/** Options of reading endpoints; `onRejected` is called for an endpoint that is left out. */
export interface EndpointReading {
  readonly names: EndpointNames;
  readonly onRejected: (reason: string) => void;
}

/** The common fields of an endpoint in EndpointSlice and Endpoints objects. */
export interface EndpointFields {
  readonly address: string;
  readonly hostname: string | null | undefined;
  readonly pod: string | null | undefined;
}

const SERVICE_LABEL = 'kubernetes.io/service-name';

/**
 * Projects an EndpointSlice of the API; an endpoint without a `ready` condition is ready. Throws when the
 * object has another shape; only the invalid endpoint itself is left out.
 */
export function projectEndpointSlice(
  object: V1EndpointSlice,
  reading: EndpointReading,
): EndpointSlice {
  const namespace = object.metadata?.namespace ?? '';
  const service = object.metadata?.labels?.[SERVICE_LABEL] ?? '';
  if (service !== '') checkLabels(namespace, service);
  // The schema has no records for slices of names, even where a name looks like an address.
  const isOfNames = object.addressType === 'FQDN';
  return {
    version: '',
    listNumber: 0,
    service: service === '' ? '' : `${namespace}/${service}`,
    groups: isOfNames
      ? []
      : groupEndpoints(readyEndpoints(object), readPorts(object.ports), reading),
  };
}

function readyEndpoints(object: V1EndpointSlice): EndpointFields[] {
  const ready = (object.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  return ready.flatMap(({ addresses, hostname, targetRef }) => {
    const pod = targetRef?.kind === 'Pod' ? targetRef.name : undefined;
    return addresses.map((address) => ({ address, hostname, pod }));
  });
}

/** Groups endpoints with the same ports by family. */
export function groupEndpoints(
  endpoints: readonly EndpointFields[],
  ports: PortList,
  reading: EndpointReading,
): EndpointGroup[] {
  const good = endpoints.filter((endpoint) => isSound(endpoint, reading));
  return ([IPV4_BYTES, IPV6_BYTES] as const).flatMap((size) => groupOf(good, size, ports, reading));
}

function groupOf(
  endpoints: readonly EndpointFields[],
  size: AddressSize,
  ports: PortList,
  { names }: EndpointReading,
): EndpointGroup[] {
  const own = endpoints.filter(({ address }) => address.includes(':') === (size === IPV6_BYTES));
  if (own.length === 0) return [];
  const labels = own.map((endpoint) => labelOf(endpoint, names));
  const addresses = packAddresses(
    own.map(({ address }) => address),
    size,
  );
  return [
    { ...addresses, labels: labels.some((label) => label !== '') ? labels : undefined, ports },
  ];
}

/** Whether two states of a slice have the same endpoints, in any order. */
export function isSameSlice(before: EndpointSlice, after: EndpointSlice): boolean {
  return (
    before.service === after.service &&
    before.groups.length === after.groups.length &&
    before.groups.every((group, i) => isSameGroup(group, after.groups[i]!))
  );
}

function isSameGroup(before: EndpointGroup, after: EndpointGroup): boolean {
  if (before.size !== after.size || before.bytes.length !== after.bytes.length) return false;
  if (!equalPorts(before.ports, after.ports)) return false;
  const keys = keysOf(before);
  return keysOf(after).every((key, i) => key === keys[i]);
}

/** The address and the label of each endpoint, sorted. */
function keysOf({ size, bytes, labels }: EndpointGroup): string[] {
  const keyOf = (_: unknown, i: number) =>
    bytes.slice(i * size, (i + 1) * size) + (labels?.[i] ?? '');
  return Array.from({ length: bytes.length / size }, keyOf).sort();
}

/** The hostname of the endpoint, else the label of the configured naming; empty: generated. */
function labelOf({ address, hostname, pod }: EndpointFields, names: EndpointNames): string {
  if (hostname) return hostname.toLowerCase();
  if (names === 'ip') return dashedLabel(address);
  // The name of a pod may have dots and may be too long for a label.
  return names === 'pod' && typeof pod === 'string' && isDnsLabel(pod) ? pod : '';
}

function isSound({ address, hostname }: EndpointFields, { onRejected }: EndpointReading): boolean {
  // The API promises text; check it, because a regular expression converts anything to text.
  if (typeof address !== 'string' || !isIpAddress(address)) {
    onRejected(`endpoint ${JSON.stringify(address)} is not an IP address`);
    return false;
  }
  if (hostname && !(typeof hostname === 'string' && isDnsLabel(hostname.toLowerCase()))) {
    onRejected(`endpoint ${address}: hostname ${JSON.stringify(hostname)} is not a DNS label`);
    return false;
  }
  return true;
}
