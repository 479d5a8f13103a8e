import { createHash } from 'node:crypto';
import type { EndpointSlice, KubeObject, Service, SliceEndpoint } from '@kube-dns/apiserver';
import { type ClusterPlan, podAddress, serviceAddress } from './cluster-plan.js';

const CREATED = '2026-01-05T08:30:00Z';
const CHANGED = '2026-01-06T09:41:12Z';
const NODES = 1_000;
const ZONES = ['us-east-1a', 'us-east-1b', 'us-east-1c'] as const;
/** The two ports that every service has, as its slices show them. */
const SLICE_PORTS = [
  { name: 'http', protocol: 'TCP', port: 8080 },
  { name: 'metrics', protocol: 'TCP', port: 9090 },
];
// One object for all endpoints: the JSON is the same, the memory of the generator is not.
const READY = { ready: true, serving: true, terminating: false };

/** A UID that is the same in each run. */
function uidOf(what: string): string {
  const hex = createHash('sha1').update(what).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20, 32),
  ].join('-');
}

/** Five letters or digits, as generated names end in. */
function suffixOf(what: string): string {
  return createHash('sha1').update(what).digest('hex').slice(0, 5);
}

export function namespaceObject(name: string): KubeObject & { spec: object; status: object } {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      uid: uidOf(`namespace/${name}`),
      resourceVersion: '',
      creationTimestamp: CREATED,
      labels: { 'kubernetes.io/metadata.name': name, 'example.com/cost-centre': name },
    },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}

function labelsOf(name: string): Record<string, string> {
  return {
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/managed-by': 'Helm',
  };
}

/** The changed fields of a Service. */
export interface ServiceChange {
  /** Name of the first port, `http` unless said otherwise. */
  readonly portName?: string;
}

/** A Service of about 1.5 kB of JSON, as Helm and the API server write it. */
export function serviceObject(
  plan: ClusterPlan,
  index: number,
  { portName = 'http' }: ServiceChange = {},
): Service {
  const name = plan.serviceName(index);
  const namespace = plan.namespaceOf(index);
  const address = plan.isHeadless(index) ? 'None' : serviceAddress(index);
  const labels = labelsOf(name);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace,
      uid: uidOf(`service/${name}`),
      resourceVersion: '',
      creationTimestamp: CREATED,
      labels,
      annotations: {
        'meta.helm.sh/release-name': name,
        'meta.helm.sh/release-namespace': namespace,
        'prometheus.io/port': '9090',
        'prometheus.io/scrape': 'true',
      },
      managedFields: SERVICE_MANAGED_FIELDS,
    },
    spec: {
      clusterIP: address,
      clusterIPs: [address],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [
        { name: portName, protocol: 'TCP', port: 80, targetPort: 'http' },
        { name: 'metrics', protocol: 'TCP', port: 9090, targetPort: 'metrics' },
      ],
      selector: { 'app.kubernetes.io/instance': name },
      sessionAffinity: 'None',
      type: 'ClusterIP',
    },
    status: { loadBalancer: {} },
  };
}

/** The service with another cluster address, or `None`. */
export function withAddress(service: Service, address: string): Service {
  return { ...service, spec: { ...service.spec, clusterIP: address, clusterIPs: [address] } };
}

/** The changed fields of a slice. */
export interface SliceChange {
  /** Address of the first endpoint. */
  readonly firstAddress?: string;
  readonly portName?: string;
}

/** An EndpointSlice of about 3.8 kB of JSON with ten endpoints, as the control plane writes it. */
export function sliceObject(
  plan: ClusterPlan,
  index: number,
  { firstAddress, portName = 'http' }: SliceChange = {},
): EndpointSlice {
  const service = plan.serviceOfSlice(index);
  const serviceName = plan.serviceName(service);
  const namespace = plan.namespaceOf(service);
  const name = `${serviceName}-${suffixOf(`slice/${index}`)}`;
  const ownerUid = uidOf(`service/${serviceName}`);
  const endpoints = Array.from({ length: plan.size.endpointsPerSlice }, (_, i) =>
    endpoint(plan, index, i, i === 0 ? firstAddress : undefined),
  );
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      generateName: `${serviceName}-`,
      namespace,
      uid: uidOf(`slice/${index}`),
      resourceVersion: '',
      generation: 7,
      creationTimestamp: CREATED,
      labels: {
        ...labelsOf(serviceName),
        ...(plan.isHeadless(service) && { 'service.kubernetes.io/headless': '' }),
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        'kubernetes.io/service-name': serviceName,
      },
      annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': CHANGED },
      ownerReferences: [
        {
          apiVersion: 'v1',
          kind: 'Service',
          name: serviceName,
          uid: ownerUid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: SLICE_MANAGED_FIELDS,
    },
    addressType: 'IPv4',
    endpoints,
    ports:
      portName === 'http' ? SLICE_PORTS : [{ ...SLICE_PORTS[0], name: portName }, SLICE_PORTS[1]!],
  };
}

function endpoint(
  plan: ClusterPlan,
  slice: number,
  index: number,
  address: string | undefined,
): SliceEndpoint {
  const service = plan.serviceOfSlice(slice);
  const number = plan.firstEndpoint(slice) + index;
  const hostname = plan.hasHostnames(service) ? plan.hostname(slice, index) : undefined;
  const pod = hostname ?? `${plan.serviceName(service)}-6d4cf56db6-${suffixOf(`pod/${number}`)}`;
  return {
    addresses: [address ?? podAddress(number)],
    conditions: READY,
    ...(hostname !== undefined && { hostname }),
    nodeName: NODE_NAMES[number % NODES]!,
    targetRef: {
      kind: 'Pod',
      namespace: plan.namespaceOf(service),
      name: pod,
      uid: uidOf(`pod/${number}`),
    },
    zone: ZONES[number % ZONES.length]!,
  };
}

const NODE_NAMES = Array.from({ length: NODES }, (_, i) => `node-${String(i).padStart(4, '0')}`);

/** `{ 'f:a': {}, … }`, as fieldsV1 lists owned fields. */
function owned(...fields: string[]): Record<string, object> {
  return Object.fromEntries(fields.map((field) => [`f:${field}`, {}]));
}

const APP_LABELS = ['instance', 'managed-by'].map((label) => `app.kubernetes.io/${label}`);

const SERVICE_MANAGED_FIELDS = [
  {
    manager: 'helm',
    operation: 'Update',
    apiVersion: 'v1',
    time: CREATED,
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:metadata': {
        'f:annotations': { '.': {}, ...owned('meta.helm.sh/release-name', 'prometheus.io/scrape') },
        'f:labels': { '.': {}, ...owned(...APP_LABELS) },
      },
      'f:spec': {
        ...owned('internalTrafficPolicy', 'selector', 'sessionAffinity', 'type'),
        'f:ports': { '.': {}, 'k:{"port":80,"protocol":"TCP"}': { '.': {}, ...owned('name') } },
      },
    },
  },
];

const SLICE_MANAGED_FIELDS = [
  {
    manager: 'kube-controller-manager',
    operation: 'Update',
    apiVersion: 'discovery.k8s.io/v1',
    time: CHANGED,
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:addressType': {},
      'f:endpoints': {},
      'f:metadata': {
        'f:annotations': {
          '.': {},
          ...owned('endpoints.kubernetes.io/last-change-trigger-time'),
        },
        'f:generateName': {},
        'f:labels': {
          '.': {},
          ...owned(...APP_LABELS, 'endpointslice.kubernetes.io/managed-by'),
        },
        'f:ownerReferences': { '.': {} },
      },
      'f:ports': {},
    },
  },
];
