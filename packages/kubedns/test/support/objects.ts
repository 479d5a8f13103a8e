import type { Manifest } from '@kube-dns/apiserver';
import type { V1Endpoints, V1EndpointSlice, V1Namespace, V1Service } from '@kubernetes/client-node';

/** An object as JSON has it: for the code that reads it from the API, and for the API server. */
type FromJson<T> = T & Manifest;

function fromJson<T>(value: object): FromJson<T> {
  return JSON.parse(JSON.stringify(value)) as FromJson<T>;
}

type PortFields = readonly { name?: string; port?: number; protocol?: string }[];

/** A Service as the API delivers it; `default/web` with one address unless said otherwise. */
export function serviceObject(
  fields: {
    name?: string;
    namespace?: string;
    clusterIPs?: readonly string[];
    externalName?: string;
    ports?: PortFields;
    version?: number;
  } = {},
): FromJson<V1Service> {
  const { name = 'web', namespace = 'default', clusterIPs = ['10.0.0.1'], ports = [] } = fields;
  const { externalName, version } = fields;
  return fromJson({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, ...versionOf(version) },
    spec:
      externalName === undefined
        ? { clusterIP: clusterIPs[0], clusterIPs, ports }
        : { type: 'ExternalName', externalName },
  });
}

/** The fields of a Service without an address of its own. */
export const HEADLESS = { clusterIPs: ['None'] };

/** One endpoint of a slice: an address, alone or with more. */
export type EndpointFields =
  | string
  | {
      addresses: string[];
      hostname?: string;
      pod?: string;
      isReady?: boolean | undefined;
      zone?: string;
    };

/** An EndpointSlice as the API delivers it; `default/web-1` of the service `web` unless said otherwise. */
export function sliceObject(
  fields: {
    name?: string;
    namespace?: string;
    service?: string;
    endpoints?: readonly EndpointFields[];
    ports?: PortFields;
    addressType?: string;
    annotations?: Readonly<Record<string, string>>;
    version?: number;
  } = {},
): FromJson<V1EndpointSlice> {
  const { name = 'web-1', namespace = 'default', service = 'web', version, annotations } = fields;
  const endpoints = (fields.endpoints ?? []).map((one) => {
    if (typeof one === 'string') return { addresses: [one] };
    const { addresses, hostname, pod, isReady, zone } = one;
    return {
      addresses,
      ...(hostname !== undefined && { hostname }),
      ...(pod !== undefined && { targetRef: { kind: 'Pod', name: pod } }),
      ...(isReady !== undefined && { conditions: { ready: isReady } }),
      ...(zone !== undefined && { zone }),
    };
  });
  return fromJson({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      namespace,
      ...(service !== '' && { labels: { 'kubernetes.io/service-name': service } }),
      ...(annotations !== undefined && { annotations }),
      ...versionOf(version),
    },
    addressType: fields.addressType ?? 'IPv4',
    endpoints,
    ports: fields.ports ?? [],
  });
}

/** An Endpoints object as the API delivers it, not mirrored; `default/web` unless said otherwise. */
export function endpointsObject(
  fields: {
    name?: string;
    namespace?: string;
    subsets?: readonly {
      addresses?: readonly {
        ip: string;
        hostname?: string;
        targetRef?: { kind: string; name: string };
      }[];
      notReadyAddresses?: readonly { ip: string }[];
      ports?: PortFields;
    }[];
  } = {},
): FromJson<V1Endpoints> {
  const { name = 'web', namespace = 'default', subsets = [] } = fields;
  const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };
  const metadata = { name, namespace, labels };
  return fromJson({ apiVersion: 'v1', kind: 'Endpoints', metadata, subsets });
}

export function namespaceObject(name: string): FromJson<V1Namespace> {
  return fromJson({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
}

function versionOf(version: number | undefined): { resourceVersion?: string } {
  return version === undefined ? {} : { resourceVersion: String(version) };
}

/** A service with an address and a headless one, in the namespace `shop`. */
export const SHOP = [
  namespaceObject('shop'),
  serviceObject({
    namespace: 'shop',
    clusterIPs: ['10.96.0.20'],
    ports: [{ name: 'http', port: 80 }],
  }),
  serviceObject({ namespace: 'shop', name: 'db', ...HEADLESS }),
  sliceObject({
    namespace: 'shop',
    name: 'db-1',
    service: 'db',
    endpoints: [{ addresses: ['10.1.0.1'], hostname: 'db-0' }, '10.1.0.2'],
    ports: [{ name: 'sql', port: 5432 }],
  }),
];

/** A ServiceImport as the API delivers it; `default/web` with one address unless said otherwise. */
export function importObject(
  fields: {
    name?: string;
    namespace?: string;
    type?: string;
    ips?: readonly string[];
    ports?: PortFields;
    apiVersion?: string;
    version?: number;
  } = {},
): Manifest {
  const { name = 'web', namespace = 'default', type = 'ClusterSetIP', version } = fields;
  const { ips = type === 'Headless' ? [] : ['10.42.0.1'], ports = [] } = fields;
  return fromJson<Manifest>({
    apiVersion: `multicluster.x-k8s.io/${fields.apiVersion ?? 'v1beta1'}`,
    kind: 'ServiceImport',
    metadata: { name, namespace, ...versionOf(version) },
    spec: { type, ips, ports },
  });
}

/** An EndpointSlice of an import, from the cluster `east` unless said otherwise. */
export function importedSliceObject(
  fields: Parameters<typeof sliceObject>[0] & { cluster?: string; local?: string } = {},
): FromJson<V1EndpointSlice> {
  const { cluster = 'east', service = 'web', local = '' } = fields;
  const slice = sliceObject({ name: `${service}-${cluster}`, ...fields, service: local });
  const { metadata } = slice;
  metadata.labels = {
    ...metadata.labels,
    'multicluster.kubernetes.io/service-name': service,
    'multicluster.kubernetes.io/source-cluster': cluster,
  };
  return slice;
}
