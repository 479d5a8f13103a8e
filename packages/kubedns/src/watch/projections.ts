import type {
  V1Endpoint,
  V1Endpoints,
  V1EndpointSlice,
  V1Namespace,
  V1ObjectReference,
  V1Service,
} from '@kubernetes/client-node';
import { MAX_PORT } from '@kube-dns/base';
import { isDnsLabel, isDnsSubdomain, isIpAddress } from '@kube-dns/daemon';
import {
  addressBytes,
  addressText,
  decodeName,
  encodeName,
  finishHash,
  FNV_OFFSET,
  hashByte,
  shortAddress,
} from '@kube-dns/wire';
import {
  allowsHostNames,
  type AnnotatedHosts,
  annotatedHosts,
  annotationsOf,
  HOST_NAMES_LABELS,
  hostBytes,
  isSameAnnotation,
} from '../outside/host-names.js';
import type { ObjectSink, Projection } from './store.js';

/** The label of an endpoint without a hostname: the original's hash, its dashed address, or its pod's name. */
export const ENDPOINT_NAMES = ['hash', 'ip', 'pod'] as const;
export type EndpointNames = (typeof ENDPOINT_NAMES)[number];

/** Options of reading an object; `onRejected` is called for each part that is left out. */
export interface ObjectReading {
  readonly names: EndpointNames;
  /** Whether slices of imported services are read as such; they are not unless given. */
  readonly readsImports?: boolean;
  /** Whether the zones of endpoints are stored; they are not unless given. */
  readonly readsZones?: boolean;
  readonly onRejected: (reason: string) => void;
  /** Which fields of services are stored that the cluster's own zone does without; none unless given. */
  readonly keeps?: KeptFields | undefined;
}

/** Fields that take memory for each object: they are stored for the flags that need them. */
export interface KeptFields {
  /** The addresses of services outside of the cluster. */
  readonly outside: boolean;
  /** The host names in annotations of services, and the label of namespaces that allows them. */
  readonly hostNames: boolean;
}

/** Bytes of an address of each family. */
export const IPV4_BYTES = 4;
export const IPV6_BYTES = 16;
/** The memory of an address, with its entry in the zone's index, as measured. */
const ADDRESS_BYTES = 50;
export type AddressSize = typeof IPV4_BYTES | typeof IPV6_BYTES;

/**
 * Concatenated addresses of one family, one byte per character: a short string takes less than half the
 * memory of any other array of bytes in V8, and there are tens of thousands of these.
 */
export interface PackedAddresses {
  readonly size: AddressSize;
  readonly bytes: string;
}

export const NO_IPV4: PackedAddresses = { size: IPV4_BYTES, bytes: '' };
export const NO_IPV6: PackedAddresses = { size: IPV6_BYTES, bytes: '' };

/** How many addresses there are. */
export function countOf({ size, bytes }: PackedAddresses): number {
  return bytes.length / size;
}

/** The `addressNumber` of each address. */
export function addressNumbers({ size, bytes }: PackedAddresses): Uint32Array {
  const numbers = new Uint32Array(bytes.length / size);
  for (let at = 0; at < bytes.length; at++) {
    numbers[Math.floor(at / size)]! ^= placed(bytes.charCodeAt(at), at);
  }
  return numbers;
}

/** A number of 32 bits to find an address by: of IPv4 the address itself. */
export function addressNumber(address: Uint8Array, size: number): number {
  let number = 0;
  for (let at = 0; at < size; at++) number ^= placed(address[at]!, at);
  return number >>> 0;
}

/** A byte at its place in its word. */
function placed(byte: number, at: number): number {
  return byte << (24 - 8 * (at % 4));
}

/** Packs the addresses of one family; those of the other family are left out. */
export function packAddresses(texts: readonly string[], size: AddressSize): PackedAddresses {
  const all = texts.map(addressBytes).filter(({ length }) => length === size);
  if (all.length === 0) return size === IPV4_BYTES ? NO_IPV4 : NO_IPV6;
  return { size, bytes: Buffer.concat(all).toString('latin1') };
}

/** The addresses as text, in their order. */
export function addressTexts({ size, bytes }: PackedAddresses): string[] {
  return Array.from({ length: bytes.length / size }, (_, i) =>
    addressText(Buffer.from(bytes.slice(i * size, (i + 1) * size), 'latin1')),
  );
}

/** What a name beside the zone leads to: addresses, or another name. */
export interface HostRecords {
  readonly ipv4: PackedAddresses;
  readonly ipv6: PackedAddresses;
  /** In wire form; only where there are no addresses. */
  readonly target: Uint8Array | undefined;
}

/** An address of a load balancer, or of a gateway. */
export interface OutsideAddress {
  readonly ip?: string | null | undefined;
  readonly hostname?: string | null | undefined;
}

/** No load balancer has more; an answer over UDP has space for as many. */
const MAX_OUTSIDE_ADDRESSES = 64;
/** Without its addresses, as measured. */
const RECORDS_BYTES = 250;

/**
 * What addresses of load balancers make of a name: their IP addresses, each once, or else the first of their host names. Undefined where
 * there are none; `onRejected` takes each that is neither.
 */
export function hostRecords(
  listed: readonly (OutsideAddress | null)[],
  onRejected: (reason: string) => void,
): HostRecords | undefined {
  const limit = new CountLimit('addresses outside of the cluster', MAX_OUTSIDE_ADDRESSES);
  const addresses = new Set<string>();
  const names = new Set<string>();
  for (const each of limit.take(listed)) {
    const { ip, hostname } = each ?? {};
    if (typeof ip === 'string' && isIpAddress(ip)) addresses.add(shortAddress(ip));
    else if (ip) onRejected(`address ${JSON.stringify(ip)} is not an IP address`);
    if (!hostname) continue;
    const name = typeof hostname === 'string' ? hostname.toLowerCase().replace(/\.$/, '') : '';
    if (isIpAddress(name)) addresses.add(shortAddress(name));
    else if (isDnsSubdomain(name)) names.add(name);
    else onRejected(`address ${JSON.stringify(hostname)} is not a host name`);
  }
  limit.report({ onRejected });
  const all = [...addresses];
  if (all.length > 0) {
    const packed = (size: AddressSize) => packAddresses(all, size);
    return { ipv4: packed(IPV4_BYTES), ipv6: packed(IPV6_BYTES), target: undefined };
  }
  const [name] = [...names].sort();
  return name === undefined
    ? undefined
    : { ipv4: NO_IPV4, ipv6: NO_IPV6, target: encodeName(name) };
}

/** Whether two names lead to the same. */
export function isSameHost(one: HostRecords | undefined, other: HostRecords | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.ipv4.bytes === other.ipv4.bytes &&
    one.ipv6.bytes === other.ipv6.bytes &&
    Buffer.compare(one.target ?? NO_NAME, other.target ?? NO_NAME) === 0
  );
}

/** The memory of these records, in bytes: as measured. */
export function recordsBytes(records: HostRecords | undefined): number {
  if (records === undefined) return 0;
  return RECORDS_BYTES + ADDRESS_BYTES * (countOf(records.ipv4) + countOf(records.ipv6));
}

/** The addresses of which `hostRecords` makes the same. */
export function outsideAddresses({ ipv4, ipv6, target }: HostRecords): OutsideAddress[] {
  if (target !== undefined) return [{ hostname: decodeName(target) }];
  return [...addressTexts(ipv4), ...addressTexts(ipv6)].map((ip) => ({ ip }));
}

/** A named or unnamed port; name and protocol are lower case: `http`, `tcp`, `udp`, `sctp`. */
export interface Port {
  /** Empty for an unnamed port, and for one that has no name in DNS. */
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

/** The ports of a service or of a set of endpoints. */
export interface PortList {
  /** Each once, sorted by protocol, then name, then number. */
  readonly ports: readonly Port[];
  /** Every port number once: 53 over TCP and over UDP is one number. */
  readonly numbers: readonly number[];
}

/** A port in an API object. */
export interface PortFields {
  readonly name?: string | null;
  readonly protocol?: string | null;
  readonly port?: number | null;
}

/** A longer name, which Kubernetes allows, is no label with its underscore (RFC 1035 section 2.3.4): as a port without a name. */
const MAX_PORT_NAME = 62;
/** The memory of a port, as measured. */
const PORT_BYTES = 100;

/** How many lists are remembered; most services of a cluster have one of a few. */
const REMEMBERED_LISTS = 256;
/** Longer ones are not remembered: they would stay in memory after their objects. */
const MAX_REMEMBERED_PORTS = 16;

/** The last list of each hash: equal lists are one object, in a large cluster a few in place of tens of thousands. */
const remembered: (PortList | undefined)[] = new Array<undefined>(REMEMBERED_LISTS).fill(undefined);

/** The ports of endpoints without a port. */
export const NO_PORTS: PortList = { ports: [], numbers: [] };

/** Reads the ports of an API object. One without a number means all ports, which SRV cannot express. */
export function readPorts(fields: readonly PortFields[] | null | undefined): PortList {
  const ports: Port[] = [];
  for (const { name, protocol, port } of fields ?? []) {
    if (port === undefined || port === null) continue;
    if (!Number.isInteger(port) || port < 0 || port > MAX_PORT) {
      throw new Error(`port ${JSON.stringify(port)} is not a port number`);
    }
    const text = name ?? '';
    ports.push({
      name: text.length > MAX_PORT_NAME ? '' : text.toLowerCase(),
      protocol: (protocol ?? 'TCP').toLowerCase(),
      port,
    });
  }
  return portList(ports);
}

/** The fields that `readPorts` makes this list of. */
export function portFields({ ports }: PortList) {
  return ports.map(({ name, protocol, port }) => ({
    ...(name !== '' && { name }),
    protocol,
    port,
  }));
}

/** The ports of both lists, each once. */
export function joinPorts(left: PortList, right: PortList): PortList {
  const both = portList([...left.ports, ...right.ports]);
  return both.ports.length === left.ports.length ? left : both;
}

/** Whether two lists are the same. */
export function equalPorts(left: PortList, right: PortList): boolean {
  return (
    left === right ||
    (left.ports.length === right.ports.length &&
      left.ports.every((port, i) => comparePorts(port, right.ports[i]!) === 0))
  );
}

function portList(all: readonly Port[]): PortList {
  if (all.length === 0) return NO_PORTS;
  const sorted = all.toSorted(comparePorts);
  const ports = sorted.filter((port, i) => i === 0 || comparePorts(sorted[i - 1]!, port) !== 0);
  return shared({ ports, numbers: [...new Set(ports.map(({ port }) => port))] });
}

/** The equal list that is remembered, else this one, which then is. */
function shared(list: PortList): PortList {
  if (list.ports.length > MAX_REMEMBERED_PORTS) return list;
  let hash = FNV_OFFSET;
  for (const { name, port } of list.ports) {
    for (let i = 0; i < name.length; i++) hash = hashByte(hash, name.charCodeAt(i));
    hash = hashByte(hash, port);
  }
  const at = finishHash(hash) & (REMEMBERED_LISTS - 1);
  const found = remembered[at];
  return found !== undefined && equalPorts(found, list) ? found : (remembered[at] = list);
}

function comparePorts(left: Port, right: Port): number {
  return (
    compareTexts(left.protocol, right.protocol) ||
    compareTexts(left.name, right.name) ||
    left.port - right.port
  );
}

function compareTexts(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** A service without ports, with its name and namespace in the zone, as measured. */
const SERVICE_BYTES = 1_400;
/** The API allows two, one of each family. */
const MAX_CLUSTER_IPS = 16;
const NO_NAME = new Uint8Array(0);

/** The fields of a Service that DNS needs. */
export interface Service extends Projection {
  readonly kind: 'cluster-ip' | 'headless' | 'external-name';
  /** All cluster addresses; the address of an ExternalName that is one; else empty. */
  readonly ipv4: PackedAddresses;
  readonly ipv6: PackedAddresses;
  /** The labels of these addresses; undefined where they are generated. */
  readonly ipv4Labels: readonly string[] | undefined;
  readonly ipv6Labels: readonly string[] | undefined;
  readonly ports: PortList;
  /** The CNAME target of an ExternalName in wire form; undefined when it is an address. */
  readonly cname: Uint8Array | undefined;
  /** Its addresses outside of the cluster; undefined where it has none, or they are not kept. */
  readonly outside?: HostRecords | undefined;
  /** The host names of its annotations; undefined where it has none, or they are not kept. */
  readonly hostNames?: AnnotatedHosts | undefined;
}

/** Projects a Service of the API; throws when a field is invalid. */
export function projectService(object: V1Service, reading: ObjectReading): Service {
  const namespace = object.metadata?.namespace ?? '';
  const name = object.metadata?.name ?? '';
  checkLabels(namespace, name);
  const { spec } = object;
  const isExternal = spec?.type === 'ExternalName';
  const target = isExternal ? (spec.externalName ?? '').replace(/\.$/, '') : '';
  if (isExternal && target === '') throw new Error('the service has no externalName');
  const addresses = isExternal ? [target].filter(isIpAddress) : clusterAddresses(spec, reading);
  return {
    version: '',
    listNumber: 0,
    // One that waits for its address counts as headless, as in kubernetes/dns pkg/dns/dns.go.
    kind: isExternal ? 'external-name' : addresses.length > 0 ? 'cluster-ip' : 'headless',
    ipv4: packAddresses(addresses, IPV4_BYTES),
    ipv6: packAddresses(addresses, IPV6_BYTES),
    ipv4Labels: labelsOf(addresses, IPV4_BYTES, reading.names),
    ipv6Labels: labelsOf(addresses, IPV6_BYTES, reading.names),
    ports: readPorts(spec?.ports),
    cname: isExternal && addresses.length === 0 ? encodeName(target) : undefined,
    ...(reading.keeps && !isExternal && keptFields(object, reading.keeps, reading.onRejected)),
  };
}

/** Those that are there: most services have neither, and an absent field takes no memory. */
function keptFields(
  object: V1Service,
  { outside, hostNames }: KeptFields,
  onRejected: (reason: string) => void,
): Pick<Service, 'outside' | 'hostNames'> {
  const { spec, status } = object;
  // The load balancer's first: `externalIPs` is deprecated (Kubernetes 1.36).
  const ingress = status?.loadBalancer?.ingress ?? [];
  const externalIps = (spec?.externalIPs ?? []).map((ip) => ({ ip }));
  const isRead = outside || hostNames;
  const records = isRead ? hostRecords([...ingress, ...externalIps], onRejected) : undefined;
  const hosts = hostNames ? annotatedHosts(object.metadata, onRejected) : undefined;
  return {
    ...(records !== undefined && { outside: records }),
    ...(hosts !== undefined && { hostNames: hosts }),
  };
}

/** The object of which `projectService` makes the same fields. */
function serviceOf(key: string, service: Service) {
  const { kind, ipv4, ipv6, cname, outside, hostNames } = service;
  const addresses = [...addressTexts(ipv4), ...addressTexts(ipv6)];
  const ports = portFields(service.ports);
  const metadata = { ...metadataOf(key, service), ...(hostNames && annotationsOf(hostNames)) };
  if (kind === 'external-name') {
    const externalName = cname === undefined ? addresses[0]! : `${decodeName(cname)}.`;
    return { metadata, spec: { type: 'ExternalName', externalName, ports } };
  }
  const spec = { clusterIPs: kind === 'headless' ? ['None'] : addresses, ports };
  const status = outside && { loadBalancer: { ingress: outsideAddresses(outside) } };
  return { metadata, spec, ...(status && { status }) };
}

export function metadataOf(key: string, { version }: Projection) {
  const [name = '', namespace] = key.split('/').reverse();
  return {
    ...(namespace !== undefined && { namespace }),
    name,
    ...(version !== '' && { resourceVersion: version }),
  };
}

/** Whether two states of a service have the same records. */
export function isSameService(before: Service, after: Service): boolean {
  return (
    before.kind === after.kind &&
    before.ipv4.bytes === after.ipv4.bytes &&
    before.ipv6.bytes === after.ipv6.bytes &&
    // Two texts of an IPv6 address can have two labels.
    isSameList(before.ipv6Labels, after.ipv6Labels) &&
    equalPorts(before.ports, after.ports) &&
    Buffer.compare(before.cname ?? NO_NAME, after.cname ?? NO_NAME) === 0 &&
    isSameHost(before.outside, after.outside) &&
    isSameAnnotation(before.hostNames, after.hostNames)
  );
}

function isSameList(one: readonly string[] = [], other: readonly string[] = []): boolean {
  return one.length === other.length && one.every((text, i) => text === other[i]);
}

/** The memory of a service, with its name, namespace and addresses in the zone, in bytes: as measured. */
export function serviceBytes({ ports, ipv4, ipv6, outside, hostNames }: Service): number {
  const addresses = countOf(ipv4) + countOf(ipv6);
  const bytes = SERVICE_BYTES + addresses * ADDRESS_BYTES + ports.ports.length * PORT_BYTES;
  return bytes + recordsBytes(outside) + hostBytes(hostNames?.hosts);
}

/** Throws when one of the texts is not a DNS label. */
export function checkLabels(...labels: readonly unknown[]): void {
  for (const label of labels) {
    // A number would be read as its digits, and have no place in the zone.
    if (typeof label !== 'string' || !isDnsLabel(label))
      throw new Error(`${JSON.stringify(label)} is not a DNS label`);
  }
}

function clusterAddresses(spec: V1Service['spec'], reading: ObjectReading): string[] {
  const texts = spec?.clusterIPs?.length ? spec.clusterIPs : [spec?.clusterIP ?? ''];
  const limit = new CountLimit('cluster addresses', MAX_CLUSTER_IPS);
  const used = limit.take(texts);
  limit.report(reading);
  return used.filter((text) => {
    if (text === '' || text === 'None') return false;
    if (isIpAddress(text)) return true;
    throw new Error(`clusterIP ${JSON.stringify(text)} is not an IP address`);
  });
}

function labelsOf(
  addresses: readonly string[],
  size: AddressSize,
  names: EndpointNames,
): readonly string[] | undefined {
  if (names !== 'ip') return undefined;
  const isIpv6 = size === IPV6_BYTES;
  return addresses.filter((text) => text.includes(':') === isIpv6).map(dashedLabel);
}

/** Ready endpoints of one family that serve the same ports; where zones are stored, of one zone. */
export interface EndpointGroup extends PackedAddresses {
  /** Their zone of the cloud, lower case; undefined where they have none, or zones are not stored. */
  readonly zone?: string;
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
  /** Where it is a slice of an imported service, and these are read. */
  readonly imported?: ImportedFrom;
}

/** Of which imported service a slice has endpoints, and of which cluster they are. */
export interface ImportedFrom {
  /** `namespace/name` of the ServiceImport. */
  readonly service: string;
  /** One label or two, joined by a dot; lower case. */
  readonly cluster: string;
}

/** The common fields of an endpoint in EndpointSlice and Endpoints objects. */
interface EndpointFields {
  readonly address: string;
  readonly hostname: string | null | undefined;
  readonly pod: string | undefined;
  readonly zone?: string | undefined;
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
/** KEP-1645: of which ServiceImport, and of which cluster. */
const IMPORT_LABEL = 'multicluster.kubernetes.io/service-name';
const CLUSTER_LABEL = 'multicluster.kubernetes.io/source-cluster';
const MAX_CLUSTER_LABELS = 2;

/** `namespace/name` of the service that a slice belongs to; empty when it belongs to none. */
export function serviceKeyOf({ metadata }: V1EndpointSlice): string {
  const name: unknown = metadata?.labels?.[SERVICE_LABEL];
  const namespace: unknown = metadata?.namespace;
  const isNamed = typeof name === 'string' && name !== '' && typeof namespace === 'string';
  return isNamed ? `${namespace}/${name}` : '';
}

/**
 * Projects an EndpointSlice of the API; an endpoint without a `ready` condition is ready. Throws when the
 * object has another shape; only the invalid endpoint itself is left out.
 */
export function projectEndpointSlice(
  object: V1EndpointSlice,
  reading: ObjectReading,
): EndpointSlice {
  const { metadata, addressType, ports } = object;
  const namespace = metadata?.namespace ?? '';
  const name = metadata?.labels?.[SERVICE_LABEL] ?? '';
  if (name !== '') checkLabels(namespace, name);
  const service = serviceKeyOf(object);
  const imported = reading.readsImports === true ? importedFrom(object, reading) : undefined;
  // The schema has no records for slices of names, even where a name looks like an address.
  if (addressType === 'FQDN') return { version: '', listNumber: 0, service, groups: [] };
  const limit = new CountLimit('endpoints', MAX_ENDPOINTS);
  const listed = presentOnly(object.endpoints ?? [], 'an endpoint', reading);
  const ready = listed.filter(({ conditions }) => conditions?.ready !== false);
  const endpoints = ready.flatMap((endpoint) => {
    const { addresses, hostname, targetRef } = endpoint;
    const pod = podOf(targetRef);
    const zone = reading.readsZones === true ? zoneOf(endpoint, reading) : undefined;
    return limit.take(addresses).map((address) => ({ address, hostname, pod, zone }));
  });
  limit.report(reading);
  const groups = groupEndpoints(endpoints, readPorts(ports), reading);
  const slice = { version: '', listNumber: 0, service, groups };
  return imported === undefined ? slice : { ...slice, imported };
}

const ZONE = /^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/;

/** The zone of an endpoint, lower case: the value of a label of its node. */
function zoneOf(endpoint: V1Endpoint, { onRejected }: ObjectReading): string | undefined {
  const { addresses, zone }: { addresses: readonly string[]; zone?: unknown } = endpoint;
  if (zone === undefined || zone === null || zone === '') return undefined;
  const text = typeof zone === 'string' ? zone.toLowerCase() : '';
  if (ZONE.test(text)) return text;
  onRejected(
    `endpoint ${addresses.join()}: zone ${JSON.stringify(zone)} is not the value of a label`,
  );
  return undefined;
}

/** The import that a slice is of; what is wrong with it must not harm a service of the cluster that it is of, too. */
function importedFrom(
  { metadata }: V1EndpointSlice,
  { onRejected }: ObjectReading,
): ImportedFrom | undefined {
  const labels: Readonly<Record<string, unknown>> = metadata?.labels ?? {};
  const namespace = metadata?.namespace ?? '';
  const name = labels[IMPORT_LABEL];
  const cluster = labels[CLUSTER_LABEL];
  if (name === undefined && cluster === undefined) return undefined;
  const text = typeof cluster === 'string' ? cluster.toLowerCase() : '';
  const parts = text.split('.');
  if (typeof name !== 'string' || !isDnsLabel(name) || !isDnsLabel(namespace)) {
    onRejected(`${IMPORT_LABEL} ${JSON.stringify(name)} is not a DNS label`);
  } else if (parts.length > MAX_CLUSTER_LABELS || !parts.every(isDnsLabel)) {
    onRejected(`${CLUSTER_LABEL} ${JSON.stringify(cluster)} is not one or two DNS labels`);
  } else return { service: `${namespace}/${name}`, cluster: text };
  return undefined;
}

/** The object of which `projectEndpointSlice` makes the same fields: its groups have the same ports. */
function sliceOf(key: string, slice: EndpointSlice) {
  const { service, groups, imported } = slice;
  const [first] = groups;
  const labels = {
    ...(service !== '' && { [SERVICE_LABEL]: nameOf(service) }),
    ...(imported && {
      [IMPORT_LABEL]: nameOf(imported.service),
      [CLUSTER_LABEL]: imported.cluster,
    }),
  };
  return {
    metadata: {
      ...metadataOf(key, slice),
      ...(Object.keys(labels).length > 0 && { labels }),
    },
    addressType: first?.size === IPV6_BYTES ? 'IPv6' : 'IPv4',
    endpoints: groups.flatMap((group) =>
      endpointFields(group).map(({ address, hostname }) => ({
        addresses: [address],
        ...(hostname !== '' && { hostname }),
        ...(group.zone !== undefined && { zone: group.zone }),
      })),
    ),
    ports: first === undefined ? [] : portFields(first.ports),
  };
}

/** The name in a key, `namespace/name`. */
function nameOf(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}

/** The object of which `projectEndpoints` makes the same fields. */
function endpointsOf(key: string, slice: EndpointSlice) {
  const subsets = slice.groups.map((group) => ({
    addresses: endpointFields(group).map(({ address, hostname }) => ({
      ip: address,
      ...(hostname !== '' && { hostname }),
    })),
    ports: portFields(group.ports),
  }));
  return { metadata: metadataOf(key, slice), subsets };
}

/** The endpoints of a group; a label is the same as that of a hostname, whatever it was made of. */
function endpointFields(group: EndpointGroup): { address: string; hostname: string }[] {
  const { labels } = group;
  return addressTexts(group).map((address, i) => ({ address, hostname: labels?.[i] ?? '' }));
}

/** The memory of a slice and of its addresses in the zone, in bytes: as measured. */
export function sliceBytes({ groups }: EndpointSlice): number {
  let bytes = SLICE_BYTES;
  for (const { labels = [], ports, zone, ...addresses } of groups) {
    if (zone !== undefined) bytes += LABEL_BYTES + zone.length;
    bytes += GROUP_BYTES + countOf(addresses) * ADDRESS_BYTES + ports.ports.length * PORT_BYTES;
    for (const label of labels) bytes += LABEL_BYTES + label.length;
  }
  return bytes;
}

/** The pod of an endpoint; it may refer to something else. */
function podOf(target: V1ObjectReference | undefined): string | undefined {
  return target?.kind === 'Pod' ? target.name : undefined;
}

/** Groups endpoints with the same ports by family, and by zone where zones are stored. */
function groupEndpoints(
  endpoints: readonly EndpointFields[],
  ports: PortList,
  reading: ObjectReading,
): EndpointGroup[] {
  const good = endpoints.filter((endpoint) => isSound(endpoint, reading));
  if (reading.readsZones !== true) return groupsOf(good, ports, reading);
  const byZone = new Map<string, EndpointFields[]>();
  for (const endpoint of good) {
    const { zone = '' } = endpoint;
    const others = byZone.get(zone);
    if (others === undefined) byZone.set(zone, [endpoint]);
    else others.push(endpoint);
  }
  // Sorted: a slice that has the same endpoints in another order is the same.
  return [...byZone.keys()].sort().flatMap((zone) => {
    const groups = groupsOf(byZone.get(zone)!, ports, reading);
    return zone === '' ? groups : groups.map((group) => ({ ...group, zone }));
  });
}

function groupsOf(
  good: readonly EndpointFields[],
  ports: PortList,
  reading: ObjectReading,
): EndpointGroup[] {
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
    before.imported?.service === after.imported?.service &&
    before.imported?.cluster === after.imported?.cluster &&
    before.groups.length === after.groups.length &&
    before.groups.every((group, i) => isSameGroup(group, after.groups[i]!))
  );
}

function isSameGroup(before: EndpointGroup, after: EndpointGroup): boolean {
  if (before.size !== after.size || before.bytes.length !== after.bytes.length) return false;
  if (before.zone !== after.zone) return false;
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
  const limit = new CountLimit('endpoints', MAX_ENDPOINTS);
  const subsetLimit = new CountLimit('subsets', MAX_SUBSETS);
  const groups = subsetLimit.take(object.subsets ?? []).flatMap(({ addresses, ports }) => {
    const listed = presentOnly(addresses ?? [], 'an address', reading);
    const endpoints = limit.take(listed).map(({ ip, hostname, targetRef }) => ({
      address: ip,
      hostname,
      pod: podOf(targetRef),
    }));
    return groupEndpoints(endpoints, readPorts(ports), reading);
  });
  limit.report(reading);
  subsetLimit.report(reading);
  return { version: '', listNumber: 0, service: `${namespace}/${name}`, groups };
}

/** The items of a list without those that are null, which the API does not promise. */
function presentOnly<T>(items: readonly T[], what: string, { onRejected }: ObjectReading): T[] {
  const present = items.filter((item) => item !== null);
  if (present.length < items.length) onRejected(`${what} is null`);
  return present;
}

/** Takes the first items of an object's lists, as many as are used, and counts the others. */
class CountLimit {
  readonly #what: string;
  readonly #max: number;
  #used = 0;
  #others = 0;

  /** `what` names the items in the log, as `endpoints`. */
  constructor(what: string, max: number) {
    this.#what = what;
    this.#max = max;
  }

  /** Those of the list that are used. */
  take<T>(items: readonly T[]): readonly T[] {
    const used = items.slice(0, this.#max - this.#used);
    this.#used += used.length;
    this.#others += items.length - used.length;
    return used;
  }

  /** Reports the others, after all lists. */
  report({ onRejected }: Pick<ObjectReading, 'onRejected'>): void {
    if (this.#others > 0) onRejected(`${this.#others} more ${this.#what} than ${this.#max}`);
  }
}

/** An address as a label, `-` for `.` and `:`; a zero where a dash would be first or last. */
export function dashedLabel(address: string): string {
  const dashed = address.toLowerCase().replace(/[.:]/g, '-');
  return dashed.replace(/^-/, '0-').replace(/-$/, '-0');
}

/** Stores projected objects for records. Its methods throw for a name that is too long for the zone. */
export interface RecordStore {
  /** A service was added, changed or deleted (undefined); `key` is `namespace/name`. */
  putService(key: string, service: Service | undefined): void;
  /** A slice was added (no `before`), changed, or deleted (no `after`). */
  replaceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void;
  /** `hasHostNames`: whether its objects may take host names of other domains. */
  putNamespace(name: string, exists: boolean, hasHostNames?: boolean): void;
}

/** The fields of a Namespace that DNS needs. */
interface Namespace extends Projection {
  readonly hasHostNames?: boolean;
}

/** Several stores as one: each gets each change, in this order. */
export function allStores(
  first: RecordStore,
  others: readonly Partial<RecordStore>[],
): RecordStore {
  if (others.length === 0) return first;
  return {
    putService: (key, service) => {
      first.putService(key, service);
      for (const other of others) other.putService?.(key, service);
    },
    replaceSlice: (before, after) => {
      first.replaceSlice(before, after);
      for (const other of others) other.replaceSlice?.(before, after);
    },
    putNamespace: (name, exists, hasHostNames) => {
      first.putNamespace(name, exists, hasHostNames);
      for (const other of others) other.putNamespace?.(name, exists, hasHostNames);
    },
  };
}

/** As measured, with its entry in the zone. */
const NAMESPACE_BYTES = 900;

/**
 * Projects the objects of each resource on arrival, and passes changes to the record store: not those of
 * annotations, labels, nodes and other fields that are in no answer.
 */
export class ClusterState {
  readonly services: ObjectSink<V1Service, Service>;
  readonly endpointSlices: ObjectSink<V1EndpointSlice, EndpointSlice>;
  /** Endpoints objects become slices; duplicates of real slices are merged in the zone. */
  readonly endpoints: ObjectSink<V1Endpoints, EndpointSlice>;
  readonly namespaces: ObjectSink<V1Namespace, Namespace>;

  /** `endpointNames` is `hash`, and no namespace is hidden, unless given. */
  constructor({
    records,
    endpointNames: names = 'hash',
    hiddenNamespaces,
    keeps,
    readsImports = false,
    readsZones = false,
  }: {
    /** What the objects change: see `allStores` for several. */
    readonly records: RecordStore;
    readonly endpointNames?: EndpointNames;
    readonly hiddenNamespaces?: ReadonlySet<string>;
    readonly keeps?: KeptFields | undefined;
    /** Whether slices of imported services are read as such; they are not unless given. */
    readonly readsImports?: boolean;
    /** Whether the zones of endpoints are stored; they are not unless given. */
    readonly readsZones?: boolean;
  }) {
    this.services = {
      project: (_key, object, onRejected) => {
        if (hiddenNamespaces?.has(object.metadata?.namespace ?? '') === true) {
          throw new Error('its namespace is one of --hidden-namespaces');
        }
        return projectService(object, { names, onRejected, keeps });
      },
      objectOf: serviceOf,
      isSame: isSameService,
      bytesOf: serviceBytes,
      change: (key, _before, after) => records.putService(key, after),
    };
    const slices = {
      bytesOf: sliceBytes,
      isSame: isSameSlice,
      change: (_key: string, before?: EndpointSlice, after?: EndpointSlice) =>
        records.replaceSlice(before, after),
    };
    this.endpointSlices = {
      project: (_key, object, onRejected) =>
        projectEndpointSlice(object, { names, onRejected, readsImports, readsZones }),
      objectOf: sliceOf,
      ...slices,
    };
    this.endpoints = {
      project: (_key, object, onRejected) => projectEndpoints(object, { names, onRejected }),
      objectOf: endpointsOf,
      ...slices,
    };
    this.namespaces = {
      project: (name, { metadata }) => {
        checkLabels(name);
        const hasHostNames = keeps?.hostNames === true && allowsHostNames(metadata?.labels);
        return { version: '', listNumber: 0, ...(hasHostNames && { hasHostNames }) };
      },
      objectOf: (name, stored) => {
        const labels = stored.hasHostNames === true ? HOST_NAMES_LABELS : undefined;
        return { metadata: { ...metadataOf(name, stored), ...(labels && { labels }) } };
      },
      isSame: (before, after) => before.hasHostNames === after.hasHostNames,
      bytesOf: () => NAMESPACE_BYTES,
      change: (key, _before, after) =>
        records.putNamespace(key, after !== undefined, after?.hasHostNames),
    };
  }
}
