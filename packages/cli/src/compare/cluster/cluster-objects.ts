import { isIP } from 'node:net';
import { asMapping, mappingsOf, textOf, valueAt, type Mapping } from '../../manifests/mapping.js';

export interface NamedPort {
  /** Empty when it has none; then it has no SRV record. */
  readonly name: string;
  readonly protocol: string;
}

/** A Service, reduced to what its names depend on. */
export interface ClusterService {
  readonly namespace: string;
  readonly name: string;
  /** Empty for a headless service and for an ExternalName. */
  readonly addresses: readonly string[];
  readonly isHeadless: boolean;
  readonly ports: readonly NamedPort[];
}

export interface ClusterEndpoint {
  readonly addresses: readonly string[];
  /** Empty when it has none. */
  readonly hostname: string;
}

/** An EndpointSlice or a subset of Endpoints. */
export interface EndpointGroup {
  readonly namespace: string;
  readonly service: string;
  readonly endpoints: readonly ClusterEndpoint[];
  readonly ports: readonly NamedPort[];
}

export interface ClusterPod {
  readonly namespace: string;
  readonly addresses: readonly string[];
}

/** The objects for the questions. */
export interface ClusterObjects {
  readonly namespaces: readonly string[];
  readonly services: readonly ClusterService[];
  readonly endpoints: readonly EndpointGroup[];
  readonly pods: readonly ClusterPod[];
}

const SERVICE_LABEL = 'kubernetes.io/service-name';

/** The name of a Namespace; undefined for any other value. */
export function readNamespace(item: unknown): string | undefined {
  return nameOf(item);
}

/** A Service of the API; undefined for any other value. */
export function readService(item: unknown): ClusterService | undefined {
  const name = nameOf(item);
  const spec = fieldsOf(fieldsOf(item).spec);
  if (name === undefined) return undefined;
  const ips = stringsOf(spec.clusterIPs);
  const all = ips.length > 0 ? ips : stringsOf([spec.clusterIP]);
  return {
    namespace: namespaceOf(item),
    name,
    addresses: all.filter((address) => isIP(address) !== 0),
    isHeadless: all.includes('None') && spec.type !== 'ExternalName',
    ports: portsOf(spec.ports),
  };
}

/** An EndpointSlice of the API; empty for one that belongs to no service. */
export function readSlice(item: unknown): EndpointGroup[] {
  const fields = fieldsOf(item);
  const service = textOf(valueAt(item, 'metadata', 'labels', SERVICE_LABEL));
  if (service === '') return [];
  const endpoints = mappingsOf(fields.endpoints)
    .filter((one) => fieldsOf(one.conditions).ready !== false)
    .map((one) => ({ addresses: ipsOf(one.addresses), hostname: textOf(one.hostname) }));
  return [{ namespace: namespaceOf(item), service, endpoints, ports: portsOf(fields.ports) }];
}

/** The subsets of an Endpoints object of the API. */
export function readEndpoints(item: unknown): EndpointGroup[] {
  const service = nameOf(item);
  if (service === undefined) return [];
  return mappingsOf(fieldsOf(item).subsets).map((subset) => ({
    namespace: namespaceOf(item),
    service,
    endpoints: mappingsOf(subset.addresses).map((one) => ({
      addresses: ipsOf([one.ip]),
      hostname: textOf(one.hostname),
    })),
    ports: portsOf(subset.ports),
  }));
}

/** A Pod of the API with its own address; undefined for any other. */
export function readPod(item: unknown): ClusterPod | undefined {
  const { spec, status } = fieldsOf(item);
  const { podIP, podIPs } = fieldsOf(status);
  const listed = mappingsOf(podIPs).map((one) => one.ip);
  const addresses = ipsOf(listed.length > 0 ? listed : [podIP]);
  if (addresses.length === 0 || fieldsOf(spec).hostNetwork === true) return undefined;
  return { namespace: namespaceOf(item), addresses };
}

function portsOf(value: unknown): NamedPort[] {
  return mappingsOf(value).map((port) => ({
    name: textOf(port.name),
    protocol: (textOf(port.protocol) || 'TCP').toLowerCase(),
  }));
}

function nameOf(item: unknown): string | undefined {
  return textOf(valueAt(item, 'metadata', 'name')) || undefined;
}

function namespaceOf(item: unknown): string {
  return textOf(valueAt(item, 'metadata', 'namespace'));
}

function fieldsOf(value: unknown): Mapping {
  return asMapping(value) ?? {};
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(textOf).filter((text) => text !== '') : [];
}

function ipsOf(value: unknown): string[] {
  return stringsOf(value).filter((address) => isIP(address) !== 0);
}
