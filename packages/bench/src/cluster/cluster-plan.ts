import { createHash } from 'node:crypto';
import type { EndpointSlice, KubeObject, Service, SliceEndpoint } from '@kube-dns/apiserver';
import type { Expectation } from '../dns/expectation.js';

/** How large a cluster is. */
export interface ClusterSize {
  readonly services: number;
  /** Endpoint slices, spread evenly over the services. */
  readonly slices: number;
  readonly endpointsPerSlice: number;
  /** Part of the services that is headless, 0 to 1, spread evenly. */
  readonly headless: number;
}

export const ZONE = 'cluster.local';

const SERVICES_PER_NAMESPACE = 100;
/** 10.96.0.0 is the range of services that kubeadm and the API server here have. */
const SERVICE_BASE = ipNumber(10, 96, 2, 0);
/** Pods have 10.128.0.0/9; what changes get later is taken from the upper half of it. */
const POD_BASE = ipNumber(10, 128, 0, 0);
const CHANGED_POD_BASE = ipNumber(10, 192, 0, 0);

function ipNumber(a: number, b: number, c: number, d: number): number {
  return ((a * 256 + b) * 256 + c) * 256 + d;
}

function ipText(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');
}

/** The cluster address of the service with this number. */
export function serviceAddress(index: number): string {
  return ipText(SERVICE_BASE + index);
}

/** The address of the n-th endpoint of the whole cluster. */
export function podAddress(index: number): string {
  return ipText(POD_BASE + index);
}

/** The n-th address that no endpoint has from the start. */
export function changedPodAddress(index: number): string {
  return ipText(CHANGED_POD_BASE + index);
}

/**
 * The names and addresses of the objects of a generated cluster: pure functions of numbers, so that every
 * process of the bench can compute them.
 */
export class ClusterPlan {
  readonly size: ClusterSize;

  constructor(size: ClusterSize) {
    this.size = size;
  }

  get namespaces(): number {
    return Math.ceil(this.size.services / SERVICES_PER_NAMESPACE);
  }

  namespaceName(index: number): string {
    return `team-${String(index).padStart(3, '0')}`;
  }

  namespaceOf(service: number): string {
    return this.namespaceName(Math.floor(service / SERVICES_PER_NAMESPACE));
  }

  serviceName(service: number): string {
    return `web-${String(service).padStart(5, '0')}`;
  }

  isHeadless(service: number): boolean {
    const { headless } = this.size;
    return Math.floor((service + 1) * headless) > Math.floor(service * headless);
  }

  /** Every second headless service has pods with hostnames, as a StatefulSet gives them. */
  hasHostnames(service: number): boolean {
    return this.isHeadless(service) && Math.floor(service * this.size.headless) % 2 === 0;
  }

  /** The service that a slice belongs to; the slices of one service are not neighbours. */
  serviceOfSlice(slice: number): number {
    return slice % this.size.services;
  }

  /** The number of the first endpoint of a slice within the whole cluster. */
  firstEndpoint(slice: number): number {
    return slice * this.size.endpointsPerSlice;
  }

  /** Number of slices of the same service before this one. */
  rankOfSlice(slice: number): number {
    return Math.floor(slice / this.size.services);
  }

  hostname(slice: number, endpoint: number): string {
    const ordinal = this.rankOfSlice(slice) * this.size.endpointsPerSlice + endpoint;
    return `${this.serviceName(this.serviceOfSlice(slice))}-${ordinal}`;
  }

  /** The DNS name of a service, without final dot. */
  dnsName(service: number): string {
    return `${this.serviceName(service)}.${this.namespaceOf(service)}.svc.${ZONE}`;
  }
}

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
interface ServiceChange {
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
interface SliceChange {
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

const MAX_NAMES = 5_000;

/** The address that a name of this service has; undefined where there is no single one. */
function expectationOf(plan: ClusterPlan, service: number): Expectation | undefined {
  const name = plan.dnsName(service);
  if (!plan.isHeadless(service)) return { name, type: 'A', address: serviceAddress(service) };
  if (!plan.hasHostnames(service) || service >= plan.size.slices) return undefined;
  const address = podAddress(plan.firstEndpoint(service));
  return { name: `${plan.hostname(service, 0)}.${name}`, type: 'A', address };
}

/** Names from all over the cluster, with the address that each has from the start. */
export function expectationsOf(plan: ClusterPlan, maxNames = MAX_NAMES): readonly Expectation[] {
  const { services } = plan.size;
  const step = Math.max(1, services / maxNames);
  const expectations: Expectation[] = [];
  for (let i = 0; i < services; i += step) {
    const expectation = expectationOf(plan, Math.floor(i));
    if (expectation) expectations.push(expectation);
  }
  return expectations;
}
