import type { EndpointSlice, KindName, KubeObject } from '@kube-dns/apiserver';
import { addressBytes, reverseName } from '@kube-dns/wire';
import type { Expectation } from '../dns/expectation.js';
import {
  changedPodAddress,
  type ClusterPlan,
  namespaceObject,
  serviceAddress,
  serviceObject,
  sliceObject,
  withAddress,
  ZONE,
} from './cluster-plan.js';

/** Lists are in the order of names: the objects of this namespace are last. */
const NAMESPACE = 'zz-bench';
const SERVICE_LABEL = 'kubernetes.io/service-name';
const HEADLESS_LABEL = 'service.kubernetes.io/headless';
const CLUSTER_IP = 'zz-marker';
const HEADLESS = 'zz-marker-pods';
/** Numbers that no object of the plan and no change has. */
const ADDRESS = 60_000;
const POD_ADDRESS = 900_000;

/** A change of one object of each resource that shows in DNS. */
interface Marker {
  readonly objects: readonly KubeObject[];
  readonly expectations: readonly Expectation[];
}

/** The same object under another name. */
function moved<T extends KubeObject>(object: T, name: string, namespace = NAMESPACE): T {
  const uid = `00000000-0000-4000-8000-${Buffer.from(name).toString('hex').slice(0, 12)}`;
  return { ...object, metadata: { ...object.metadata, name, namespace, uid } };
}

/** The n-th state of the marker: a cluster service, a headless one with its slice, their namespace. */
export function markerObjects(plan: ClusterPlan, n: number): Marker {
  const portName = `mark-${n}`;
  const address = changedPodAddress(POD_ADDRESS + n);
  const clusterIp = moved(serviceObject(plan, 0, { portName }), CLUSTER_IP);
  const headless = moved(serviceObject(plan, 0), HEADLESS);
  const slice = moved(sliceObject(plan, 0, { firstAddress: address }), `${HEADLESS}-0`);
  const namespace = namespaceObject(NAMESPACE);
  return {
    objects: [
      { ...namespace, metadata: { ...namespace.metadata, labels: { 'example.com/n': String(n) } } },
      withAddress(clusterIp, serviceAddress(ADDRESS)),
      withAddress(headless, 'None'),
      {
        ...slice,
        metadata: {
          ...slice.metadata,
          labels: { ...slice.metadata.labels, [SERVICE_LABEL]: HEADLESS },
        },
      },
    ],
    expectations: [
      { name: `_${portName}._tcp.${CLUSTER_IP}.${NAMESPACE}.svc.${ZONE}`, type: 'SRV' },
      { name: `${HEADLESS}.${NAMESPACE}.svc.${ZONE}`, type: 'A', address },
    ],
  };
}

/** An object of the API. */
interface ObjectName {
  readonly kind: KindName;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** One of the two states of a toggle. */
export interface ToggleState {
  /** The change that leads to it, as in the report. */
  readonly change: string;
  readonly put?: readonly KubeObject[];
  readonly removed?: ObjectName;
  /** The answer in this state; its question is the same in the other one. */
  readonly expectation: Expectation;
}

/** Objects that go from one state to the other and back; nothing else changes them. */
export type Toggle = readonly [ToggleState, ToggleState];

const TOGGLE_NAMESPACE = 'zz-seen';
const OTHER_NAMESPACE = 'zz-seen-too';
/** Numbers that no object of the plan, no change and no marker has. */
const FIRST_ADDRESS = 60_100;
const FIRST_POD_ADDRESS = 950_000;

/** A change of each kind that users wait for, and its opposite. */
export function togglesOf(plan: ClusterPlan): readonly Toggle[] {
  return [
    serviceToggle(plan),
    addressToggle(plan),
    endpointToggle(plan),
    reverseToggle(plan),
    namespaceToggle(),
  ];
}

/** The kinds of changes of all toggles. */
export function changesOf(toggles: readonly Toggle[]): readonly string[] {
  return [...new Set(toggles.flatMap((states) => states.map(({ change }) => change)))];
}

function serviceToggle(plan: ClusterPlan): Toggle {
  const question = { name: dnsName('made'), type: 'A' } as const;
  const address = serviceAddress(FIRST_ADDRESS);
  return [
    {
      change: 'service deleted',
      removed: serviceName('made'),
      expectation: { ...question, rcode: 'NXDOMAIN' },
    },
    {
      change: 'service created',
      put: [service(plan, 'made', address)],
      expectation: { ...question, address },
    },
  ];
}

function addressToggle(plan: ClusterPlan): Toggle {
  const state = (address: string): ToggleState => ({
    change: 'address changed',
    put: [service(plan, 'web', address)],
    expectation: { name: dnsName('web'), type: 'A', address, count: 1 },
  });
  return [state(serviceAddress(FIRST_ADDRESS + 1)), state(serviceAddress(FIRST_ADDRESS + 2))];
}

function endpointToggle(plan: ClusterPlan): Toggle {
  const first = changedPodAddress(FIRST_POD_ADDRESS);
  const second = changedPodAddress(FIRST_POD_ADDRESS + 1);
  const question = { name: dnsName('pods'), type: 'A' } as const;
  return [
    {
      change: 'headless endpoint removed',
      put: [service(plan, 'pods', 'None'), slice(plan, 'pods', [first])],
      expectation: { ...question, address: first, count: 1 },
    },
    {
      change: 'headless endpoint added',
      put: [slice(plan, 'pods', [first, second])],
      expectation: { ...question, address: second, count: 2 },
    },
  ];
}

/** An address that another service gets. */
function reverseToggle(plan: ClusterPlan): Toggle {
  const address = serviceAddress(FIRST_ADDRESS + 3);
  const name = reverseName(addressBytes(address));
  const state = (owner: string, former: string): ToggleState => ({
    change: 'PTR changed',
    put: [service(plan, owner, address)],
    removed: serviceName(former),
    expectation: { name, type: 'PTR', target: dnsName(owner), count: 1 },
  });
  return [state('left', 'right'), state('right', 'left')];
}

/** The name of a pod exists with its namespace. */
function namespaceToggle(): Toggle {
  const question = { name: `10-1-2-3.${OTHER_NAMESPACE}.pod.${ZONE}`, type: 'A' } as const;
  return [
    {
      change: 'namespace created',
      put: [namespaceObject(OTHER_NAMESPACE)],
      expectation: { ...question, address: '10.1.2.3' },
    },
    {
      change: 'namespace deleted',
      removed: { kind: 'Namespace', namespace: undefined, name: OTHER_NAMESPACE },
      expectation: { ...question, rcode: 'NXDOMAIN' },
    },
  ];
}

/** The namespace of the other toggles. */
export function toggleNamespace(): KubeObject {
  return namespaceObject(TOGGLE_NAMESPACE);
}

function dnsName(name: string): string {
  return `${name}.${TOGGLE_NAMESPACE}.svc.${ZONE}`;
}

function serviceName(name: string): ObjectName {
  return { kind: 'Service', namespace: TOGGLE_NAMESPACE, name };
}

function service(plan: ClusterPlan, name: string, clusterIp: string): KubeObject {
  return withAddress(moved(serviceObject(plan, 0), name, TOGGLE_NAMESPACE), clusterIp);
}

/** The only slice of a headless service, with these endpoints. */
function slice(plan: ClusterPlan, name: string, addresses: readonly string[]): EndpointSlice {
  const made = moved(sliceObject(plan, 0), `${name}-0`, TOGGLE_NAMESPACE);
  const { endpoints, metadata } = made;
  const labels = { ...metadata.labels, [SERVICE_LABEL]: name };
  return {
    ...made,
    metadata: { ...metadata, labels },
    endpoints: addresses.map((each) => ({ ...endpoints[0], addresses: [each] })),
  };
}

/** The kinds of changes. */
const CHANGE_KINDS = ['endpoint', 'port', 'new service'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** A change to be written, and the answer of DNS once it is served. */
export interface Change {
  readonly kind: ChangeKind;
  readonly objects: readonly KubeObject[];
  readonly expectation: Expectation;
}

/** The last tenth of the services is for changes that are timed; the noise does not change it. */
const NOISE_PART = 0.9;
/** Of a hundred events of the noise: slices of headless services, slices of others, services. */
const HEADLESS_SLICES = 50;
const OTHER_SLICES = 75;
/** After this many new services the first one is reused, so that the size of the cluster is bounded. */
const MAX_NEW_SERVICES = 1_000;

/** A sequence of numbers below `limit` that looks random and is the same in each run. */
class Sequence {
  #state = 0x2545f491;

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }
}

/** The service whose records an object of the noise changes; undefined for endpoints that are in no answer. */
export function nameChangedBy({ kind, metadata }: KubeObject): string | undefined {
  const { name, namespace = '', labels = {} } = metadata;
  const isSlice = kind === 'EndpointSlice';
  if (isSlice && labels[HEADLESS_LABEL] === undefined) return undefined;
  return `${isSlice ? labels[SERVICE_LABEL] : name}.${namespace}.svc.${ZONE}`;
}

/** Makes the events of a cluster in use: changes that can be timed, and noise around them. */
export class ChangeSource {
  readonly #plan: ClusterPlan;
  readonly #noiseLimit: number;
  readonly #sequence = new Sequence();
  /** Counts all changes, so that each change has a new value. */
  #count = 0;
  #newServices = 0;

  constructor(plan: ClusterPlan) {
    this.#plan = plan;
    this.#noiseLimit = Math.max(1, Math.floor(plan.size.services * NOISE_PART));
  }

  /** The kinds of changes that a cluster of this plan can have. */
  get kinds(): readonly ChangeKind[] {
    const { headless, slices } = this.#plan.size;
    const possible = {
      endpoint: headless > 0 && slices > 0,
      port: headless < 1,
      'new service': true,
    };
    return CHANGE_KINDS.filter((kind) => possible[kind]);
  }

  /** A change of this kind whose effect DNS can be asked for. */
  timed(kind: ChangeKind): Change {
    this.#count++;
    switch (kind) {
      case 'endpoint':
        return this.#changeEndpoint();
      case 'port':
        return this.#renamePort();
      case 'new service':
        return this.#addService();
    }
  }

  /** Any other event. */
  noise(): KubeObject {
    this.#count++;
    const { services, slices, headless } = this.#plan.size;
    const dice = this.#sequence.below(100);
    const any = this.#sequence.below(this.#noiseLimit);
    if (slices === 0 || dice >= OTHER_SLICES) {
      return serviceObject(this.#plan, any, { portName: `http-${this.#count}` });
    }
    const isHeadless = dice < HEADLESS_SLICES ? headless > 0 : headless === 1;
    const service = this.#find(any, 0, this.#noiseLimit, isHeadless);
    const ranks = Math.max(1, Math.floor((slices - service - 1) / services) + 1);
    const slice = Math.min(service + services * this.#sequence.below(ranks), slices - 1);
    return sliceObject(this.#plan, slice, { firstAddress: changedPodAddress(this.#count) });
  }

  #changeEndpoint(): Change {
    const { services, slices } = this.#plan.size;
    const end = Math.min(services, slices);
    const service = this.#find(this.#timedService(end), 0, end, true);
    const address = changedPodAddress(this.#count);
    const name = this.#plan.dnsName(service);
    const host = this.#plan.hasHostnames(service) ? `${this.#plan.hostname(service, 0)}.` : '';
    return {
      kind: 'endpoint',
      objects: [sliceObject(this.#plan, service, { firstAddress: address })],
      expectation: { name: host + name, type: 'A', address },
    };
  }

  #renamePort(): Change {
    const { services } = this.#plan.size;
    const service = this.#find(this.#timedService(services), 0, services, false);
    const portName = `port-${this.#count}`;
    return {
      kind: 'port',
      objects: [serviceObject(this.#plan, service, { portName })],
      expectation: { name: `_${portName}._tcp.${this.#plan.dnsName(service)}`, type: 'SRV' },
    };
  }

  #addService(): Change {
    // An existing service gets a new port instead.
    const service = this.#plan.size.services + (this.#newServices++ % MAX_NEW_SERVICES);
    const portName = `port-${this.#count}`;
    const made = serviceObject(this.#plan, service, { portName });
    const address = serviceAddress(service);
    const isFirst = this.#newServices <= MAX_NEW_SERVICES;
    const name = this.#plan.dnsName(service);
    return {
      kind: 'new service',
      objects: [
        ...(isFirst ? [namespaceObject(this.#plan.namespaceOf(service))] : []),
        withAddress(made, address),
      ],
      expectation: isFirst
        ? { name, type: 'A', address }
        : { name: `_${portName}._tcp.${name}`, type: 'SRV' },
    };
  }

  #timedService(end: number): number {
    const start = Math.min(this.#noiseLimit, end - 1);
    return start + this.#sequence.below(end - start);
  }

  /** The first service of the wanted sort from `from` on, going round. */
  #find(from: number, start: number, end: number, isHeadless: boolean): number {
    for (let i = 0; i < end - start; i++) {
      const service = start + ((from - start + i) % (end - start));
      if (this.#plan.isHeadless(service) === isHeadless) return service;
    }
    return from;
  }
}
