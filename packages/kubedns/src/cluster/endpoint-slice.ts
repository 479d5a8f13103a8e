import { isDnsLabel, isIpAddress } from '@kube-dns/daemon';
import type { V1EndpointSlice } from '@kubernetes/client-node';
import type { EndpointNames } from '../config/naming.js';
import { dashedLabel } from '../zone/zone-names.js';
import { CountLimit } from './count-limit.js';
import type { ObjectReading } from './object-reading.js';
import type { Projection } from './object-store.js';
import {
  ADDRESS_BYTES,
  type AddressSize,
  countOf,
  IPV4_BYTES,
  IPV6_BYTES,
  packAddresses,
  type PackedAddresses,
} from './packed-addresses.js';
import { equalPorts, PORT_BYTES, type PortList, readPorts } from './ports.js';
import { checkLabels } from './service.js';

/** Ready endpoints of one family that serve the same ports. */
export interface EndpointGroup extends PackedAddresses {
  /** The label of each endpoint, lower case, empty where it is generated; undefined when all are. */
  readonly labels: readonly string[] | undefined;
  ports: PortList;
  /** The hashes of the labels; the zone sets them for a service with very many endpoints. */
  hashes?: Uint32Array;
  /** The `addressNumbers`; the zone sets them, too. */
  numbers?: Uint32Array;
}

/** The fields of an EndpointSlice, or of an Endpoints object, that DNS needs. */
export interface EndpointSlice extends Projection {
  /** `namespace/name` of the service it belongs to; empty when it belongs to none. */
  service: string;
  readonly groups: readonly EndpointGroup[];
}

/** The common fields of an endpoint in EndpointSlice and Endpoints objects. */
export interface EndpointFields {
  readonly address: string;
  readonly hostname: string | null | undefined;
  readonly pod: string | null | undefined;
}

/** Without its groups; a group without its content; a string without its characters: as measured. */
const SLICE_BYTES = 300;
const GROUP_BYTES = 100;
const LABEL_BYTES = 40;
/**
 * The API allows 1,000 endpoints in a slice, and its controllers write as many into an Endpoints object. No
 * answer has space for more than this, and more take too long to be indexed.
 */
const MAX_ENDPOINTS = 4_096;
const SERVICE_LABEL = 'kubernetes.io/service-name';

/**
 * Projects an EndpointSlice of the API; an endpoint without a `ready` condition is ready. Throws when the
 * object has another shape; only the invalid endpoint itself is left out.
 */
export function projectEndpointSlice(
  object: V1EndpointSlice,
  reading: ObjectReading,
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
      : groupEndpoints(readyEndpoints(object, reading), readPorts(object.ports), reading),
  };
}

/** The memory of a slice and of its addresses in the zone, in bytes: as measured. */
export function sliceBytes({ groups }: EndpointSlice): number {
  let bytes = SLICE_BYTES;
  for (const { labels = [], ports, ...addresses } of groups) {
    bytes += GROUP_BYTES + countOf(addresses) * ADDRESS_BYTES + ports.ports.length * PORT_BYTES;
    for (const label of labels) bytes += LABEL_BYTES + label.length;
  }
  return bytes;
}

function readyEndpoints(object: V1EndpointSlice, reading: ObjectReading): EndpointFields[] {
  const limit = endpointLimit();
  const ready = (object.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  const endpoints = ready.flatMap(({ addresses, hostname, targetRef }) => {
    const pod = targetRef?.kind === 'Pod' ? targetRef.name : undefined;
    return limit.take(addresses).map((address) => ({ address, hostname, pod }));
  });
  limit.report(reading);
  return endpoints;
}

/** The limit of the endpoints of one object. */
export function endpointLimit(): CountLimit {
  return new CountLimit('endpoints', MAX_ENDPOINTS);
}

/** Groups endpoints with the same ports by family. */
export function groupEndpoints(
  endpoints: readonly EndpointFields[],
  ports: PortList,
  reading: ObjectReading,
): EndpointGroup[] {
  const good = endpoints.filter((endpoint) => isSound(endpoint, reading));
  const ipv4 = groupOf(good, IPV4_BYTES, ports, reading);
  const ipv6 = groupOf(good, IPV6_BYTES, ports, reading);
  // Literals: an array that grew, as flatMap's, has memory for 16 more groups.
  if (ipv4 === undefined) return ipv6 === undefined ? [] : [ipv6];
  return ipv6 === undefined ? [ipv4] : [ipv4, ipv6];
}

function groupOf(
  endpoints: readonly EndpointFields[],
  size: AddressSize,
  ports: PortList,
  { names }: ObjectReading,
): EndpointGroup | undefined {
  const own = endpoints.filter(({ address }) => address.includes(':') === (size === IPV6_BYTES));
  if (own.length === 0) return undefined;
  const all = own.map((endpoint) => labelOf(endpoint, names));
  const labels = all.some((label) => label !== '') ? all : undefined;
  const texts = own.map(({ address }) => address);
  return { size, bytes: packAddresses(texts, size).bytes, labels, ports };
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

function isSound({ address, hostname }: EndpointFields, { onRejected }: ObjectReading): boolean {
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
