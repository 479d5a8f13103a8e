import { createHash } from 'node:crypto';
import type { EndpointSlice, KubeObject, Service } from '@kube-dns/apiserver';
import type { ConfigKeys } from '@kube-dns/testkit';

/** The changes of the cluster and its configuration, and their times: fixed before the run. */
export interface SchedulePlan {
  /** The moment of the first change, on the monotonic clock. */
  readonly startMs: number;
  /** Changes of services each second; 0: nothing changes. */
  readonly changesPerSecond: number;
  /** Services that change, each in its turn. */
  readonly churned: number;
  /** Services that never change. */
  readonly settled: number;
  /** The time between two configurations; 0: there is only the first. */
  readonly configMs: number;
}

/** One change: the service gets this version. */
interface Change {
  readonly service: number;
  readonly version: number;
}

/**
 * A timetable that is a function of the time alone: the process that changes the cluster and the one that
 * judges the answers need no messages between them. Change k is due `k / changesPerSecond` after the start, and
 * is that of service `k mod churned`. Services and configuration begin with version 0.
 */
export class Schedule {
  readonly plan: SchedulePlan;

  constructor(plan: SchedulePlan) {
    this.plan = plan;
  }

  /** How many changes are due at a moment. */
  changesDue(atMs: number): number {
    const { startMs, changesPerSecond } = this.plan;
    if (atMs < startMs || changesPerSecond === 0) return 0;
    return Math.floor(((atMs - startMs) * changesPerSecond) / 1_000) + 1;
  }

  change(index: number): Change {
    const { churned } = this.plan;
    return { service: index % churned, version: Math.floor(index / churned) + 1 };
  }

  /** When a change is due. */
  dueMs(index: number): number {
    return this.plan.startMs + (index * 1_000) / this.plan.changesPerSecond;
  }

  /** The version that a churned service has at a moment. */
  serviceVersion(service: number, atMs: number): number {
    const due = this.changesDue(atMs);
    return due <= service ? 0 : Math.floor((due - 1 - service) / this.plan.churned) + 1;
  }

  /** The version of the configuration at a moment; version n is due n intervals after the start. */
  configVersion(atMs: number): number {
    const { startMs, configMs } = this.plan;
    return configMs === 0 || atMs < startMs ? 0 : Math.floor((atMs - startMs) / configMs);
  }
}

/** What a service of the proof is; each kind takes another way through kubedns. */
const SERVICE_KINDS = ['address', 'headless', 'alias'] as const;
export type ServiceKind = (typeof SERVICE_KINDS)[number];

/** An endpoint of a headless service. */
interface EndpointState {
  readonly hostname: string;
  readonly address: string;
}

/** All DNS data of a service at one of its versions. */
export interface ServiceState {
  readonly kind: ServiceKind;
  readonly name: string;
  readonly namespace: string;
  /** False between its deletion and its return. */
  readonly isThere: boolean;
  /** Of an `address`. */
  readonly clusterIP: string;
  readonly portName: string;
  readonly port: number;
  /** Of a `headless`, only those that are ready. */
  readonly ready: readonly EndpointState[];
  readonly unready: readonly EndpointState[];
  /** Of an `alias`, without final dot. */
  readonly target: string;
}

export const NAMESPACES = 10;
/** A service is made, changed twice and deleted; then it begins anew. */
const PHASES = 4;
const DELETED = 3;
const ENDPOINTS = 3;
/** An address is used again after this many lives of a service. */
const GENERATIONS = 4;
const VERSIONS_OF_ADDRESS = 16;
const TARGETS = 50;

/** The namespace of the n-th service. */
export function namespaceOf(index: number): string {
  return `team-${index % NAMESPACES}`;
}

/** The kind of the n-th service. */
export function kindOf(index: number): ServiceKind {
  return SERVICE_KINDS[index % SERVICE_KINDS.length]!;
}

/** An address below 10 that belongs to one service and one of its numbers alone. */
function addressOf(second: number, index: number, number: number): string {
  return `10.${second + number}.${index >> 8}.${index & 0xff}`;
}

/** A service as it is at a version: version 3, 7, … is none. What has no version stays at 0. */
export function serviceState(index: number, version: number): ServiceState {
  const phase = version % PHASES;
  const life = Math.floor(version / PHASES);
  const endpoints = Array.from({ length: ENDPOINTS }, (_, i) => ({
    hostname: `h${i}`,
    // The first endpoint moves with each version, the others stay.
    address: addressOf(128, index, i === 0 ? ENDPOINTS + (version % VERSIONS_OF_ADDRESS) : i),
  }));
  const isOneUnready = phase === 2;
  return {
    kind: kindOf(index),
    name: `s${index}`,
    namespace: namespaceOf(index),
    isThere: phase !== DELETED,
    clusterIP: addressOf(100, index, life % GENERATIONS),
    portName: phase === 1 ? 'admin' : 'web',
    port: phase === 2 ? 8080 : 80,
    ready: isOneUnready ? endpoints.slice(0, -1) : endpoints,
    unready: isOneUnready ? endpoints.slice(-1) : [],
    target: `w${(index + version) % TARGETS}.t300.world.test`,
  };
}

const CREATED = '2026-01-05T08:30:00Z';

function metadataOf(name: string, namespace: string, labels: Record<string, string> = {}) {
  const uid = `${namespace}/${name}`;
  return { name, namespace, uid, resourceVersion: '', creationTimestamp: CREATED, labels };
}

/** A namespace, as the API server has it. */
export function namespaceObject(name: string): KubeObject & { spec: object; status: object } {
  const { uid, resourceVersion, creationTimestamp } = metadataOf(name, '');
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, uid, resourceVersion, creationTimestamp },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}

/** The Service of a state that is there. */
export function serviceObject(state: ServiceState): Service {
  const { kind, name, namespace, clusterIP, portName, port, target } = state;
  const address = kind === 'headless' ? 'None' : clusterIP;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(name, namespace),
    spec:
      kind === 'alias'
        ? { type: 'ExternalName', externalName: target, sessionAffinity: 'None' }
        : {
            type: 'ClusterIP',
            clusterIP: address,
            clusterIPs: [address],
            ipFamilies: ['IPv4'],
            ports: [{ name: portName, protocol: 'TCP', port, targetPort: port }],
            selector: { app: name },
            sessionAffinity: 'None',
          },
    status: { loadBalancer: {} },
  };
}

/** The name of the one slice that a headless service has. */
export function sliceName({ name }: ServiceState): string {
  return `${name}-slice`;
}

/** The EndpointSlice of a headless state that is there. */
export function sliceObject(state: ServiceState): EndpointSlice {
  const { name, namespace, portName, port, ready, unready } = state;
  const endpoint = ({ hostname, address }: EndpointState, isReady: boolean) => ({
    addresses: [address],
    conditions: { ready: isReady, serving: isReady, terminating: false },
    hostname,
  });
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: metadataOf(sliceName(state), namespace, {
      'kubernetes.io/service-name': name,
      'service.kubernetes.io/headless': '',
    }),
    addressType: 'IPv4',
    endpoints: [
      ...ready.map((each) => endpoint(each, true)),
      ...unready.map((each) => endpoint(each, false)),
    ],
    ports: [{ name: portName, protocol: 'TCP', port }],
  };
}

/** The name servers outside the cluster: of the world, twice, and two that stub domains are given to. */
export const WORLD_SERVERS = ['world', 'mirror', 'first', 'second'] as const;
export type WorldServer = (typeof WORLD_SERVERS)[number];

/** The answer of a name server outside the cluster. */
interface WorldAnswer {
  /** Undefined where the name does not exist; it has no address of IPv6 in any case. */
  readonly address: string | undefined;
  readonly ttlSeconds: number;
}

const WORLD_NAME = /\.t(\d+)\.world\.test$/;
const STUB_TTL_SECONDS = 60;
const STUB_DOMAINS = ['.corp.test', '.lab.test'];
const STUB_ADDRESS: Readonly<Record<WorldServer, string | undefined>> = {
  world: undefined,
  mirror: undefined,
  first: '203.0.113.1',
  second: '203.0.113.2',
};
const NEGATIVE_TTL_SECONDS = 60;

/**
 * The world: `*.t<seconds>.world.test` has its own address with that TTL; a name in a stub domain has
 * the address that identifies the server; no other name exists.
 */
export function worldAnswer(name: string, server: WorldServer): WorldAnswer {
  const key = name.toLowerCase();
  const ttl = WORLD_NAME.exec(key)?.[1];
  if (ttl !== undefined) {
    const [high = 0, low = 0] = createHash('sha1').update(key).digest();
    return { address: `198.18.${high}.${low}`, ttlSeconds: Number(ttl) };
  }
  if (STUB_DOMAINS.some((domain) => key.endsWith(domain))) {
    return { address: STUB_ADDRESS[server], ttlSeconds: STUB_TTL_SECONDS };
  }
  return { address: undefined, ttlSeconds: NEGATIVE_TTL_SECONDS };
}

/**
 * A version of the pod's ConfigMap: the stub domain corp.test moves from the first server to the second
 * and back, and lab.test, at the first, comes and goes; so does the second server of the world.
 */
export function podConfig(
  version: number,
  ports: Readonly<Record<WorldServer, number>>,
): ConfigKeys {
  const server = (...names: WorldServer[]) => names.map((name) => `127.0.0.1:${ports[name]}`);
  const isOdd = version % 2 === 1;
  const stubDomains = isOdd
    ? { 'corp.test': server('second'), 'lab.test': server('first') }
    : { 'corp.test': server('first') };
  return {
    stubDomains: JSON.stringify(stubDomains),
    upstreamNameservers: JSON.stringify(isOdd ? server('world', 'mirror') : server('world')),
  };
}

/** Who answers names of a domain while a version holds. */
export function serverOf(domain: 'corp.test' | 'lab.test', version: number): WorldServer {
  const isOdd = version % 2 === 1;
  if (domain === 'lab.test') return isOdd ? 'first' : 'world';
  return isOdd ? 'second' : 'first';
}
