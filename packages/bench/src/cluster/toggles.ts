import type { EndpointSlice, KindName, KubeObject } from '@kube-dns/apiserver';
import { addressBytes, reverseName } from '@kube-dns/wire';
import type { Expectation } from '../dns/expectation.js';
import { changedPodAddress, type ClusterPlan, serviceAddress, ZONE } from './cluster-plan.js';
import { moved } from './marker.js';
import { namespaceObject, serviceObject, sliceObject, withAddress } from './objects.js';

/** An object of the API. */
export interface ObjectName {
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

const NAMESPACE = 'zz-seen';
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
  return namespaceObject(NAMESPACE);
}

function dnsName(name: string): string {
  return `${name}.${NAMESPACE}.svc.${ZONE}`;
}

function serviceName(name: string): ObjectName {
  return { kind: 'Service', namespace: NAMESPACE, name };
}

function service(plan: ClusterPlan, name: string, clusterIp: string): KubeObject {
  return withAddress(moved(serviceObject(plan, 0), name, NAMESPACE), clusterIp);
}

/** The only slice of a headless service, with these endpoints. */
function slice(plan: ClusterPlan, name: string, addresses: readonly string[]): EndpointSlice {
  const made = moved(sliceObject(plan, 0), `${name}-0`, NAMESPACE);
  const { endpoints, metadata } = made;
  const labels = { ...metadata.labels, 'kubernetes.io/service-name': name };
  return {
    ...made,
    metadata: { ...metadata, labels },
    endpoints: addresses.map((each) => ({ ...endpoints[0], addresses: [each] })),
  };
}
