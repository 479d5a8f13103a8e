import { inTurns, type Trace, TraceKind } from '@kube-dns/base';
import { type AnswerWriter, encodeKey, SECTION, TYPE } from '@kube-dns/wire';
import type { LocalNames } from '../answer/local-names.js';
import type { ZoneChanges } from '../subscription/announced-records.js';
import type { OptionalName, OptionalResource } from '../watch/optional-watch.js';
import { type HostRecords, isSameHost, type Service } from '../watch/projections.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { HostAnswers, targetFor } from './host-answers.js';
import { HostIndex, type HostNode, type HostOwner } from './host-index.js';
import type { ShownHost } from './outside-json.js';
import {
  type Gateway,
  gatewayBytes,
  gatewayObjectOf,
  gatewayRouteOf,
  ingressOf,
  isSameRoute,
  projectGateway,
  projectIngress,
  projectRoute,
  type Route,
  routeBytes,
} from './route-objects.js';

/** The resources of `--route-names`, as an API server may serve them. */
const ROUTES = [
  { resource: 'ingresses', kind: 'Ingress', group: 'networking.k8s.io', versions: ['v1'] },
  {
    resource: 'httproutes',
    kind: 'HTTPRoute',
    group: 'gateway.networking.k8s.io',
    versions: ['v1', 'v1beta1'],
  },
  {
    resource: 'grpcroutes',
    kind: 'GRPCRoute',
    group: 'gateway.networking.k8s.io',
    versions: ['v1', 'v1alpha2'],
  },
  {
    resource: 'tlsroutes',
    kind: 'TLSRoute',
    group: 'gateway.networking.k8s.io',
    versions: ['v1', 'v1alpha3', 'v1alpha2'],
  },
] as const;
const GATEWAYS = {
  resource: 'gateways',
  group: 'gateway.networking.k8s.io',
  versions: ['v1', 'v1beta1'],
} as const;

export interface RouteNamesOptions {
  /** The zone of the cluster: the addresses of services, and the SOA of negative answers. */
  readonly zone: Pick<ClusterZone, 'apex' | 'namespaces' | 'soaRdata'>;
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  readonly changes: ZoneChanges;
  /** Whether the cluster is known: services and namespaces. */
  readonly isSynced: () => boolean;
  /** Whether the objects of a resource are known, or will not be: it is not installed, or access to it is denied. */
  readonly isSettled: (name: OptionalName) => boolean;
  readonly random?: () => number;
  /** In milliseconds. */
  readonly now?: () => number;
}

/**
 * So long after the start any name may be a host that is not listed yet, and has no answer: another server would deny it, and
 * caches would keep that. Then the API server is away or denies something, and what it does not say is forwarded.
 */
const FIRST_LISTS_MS = 10_000;

/** An object that takes host names, whether or not its namespace allows it. */
interface Source {
  readonly owner: HostOwner;
  readonly namespace: string;
  readonly hosts: readonly string[];
  /** `namespace/name` of what the addresses are those of. */
  readonly gateways: readonly string[];
  readonly services: readonly string[];
  /** What its host at a place leads to now. */
  readonly recordsAt: (place: number) => HostRecords | undefined;
}

/** The host name that a question led to, for its explanation. */
export interface HostFinding {
  readonly host: string;
  /** As `Ingress shop/web`. */
  readonly owner: string;
  /** The objects that take the name, too, and are younger. */
  readonly others: readonly string[];
}

export const HOST_FOUND = new TraceKind<HostFinding>();

/** A name that several objects take. */
export interface HostConflict {
  readonly host: string;
  readonly owner: string;
  readonly others: readonly string[];
}

/** More are only counted. */
const MAX_SHOWN_OTHERS = 8;

/** Sources by what they depend on. */
class Dependents {
  readonly #sources = new Map<string, Set<Source>>();

  add(key: string, source: Source): void {
    const found = this.#sources.get(key);
    if (found === undefined) this.#sources.set(key, new Set([source]));
    else found.add(source);
  }

  remove(key: string, source: Source): void {
    const found = this.#sources.get(key);
    if (found?.delete(source) === true && found.size === 0) this.#sources.delete(key);
  }

  of(key: string): Iterable<Source> {
    return this.#sources.get(key) ?? [];
  }
}

/**
 * The hosts of `--route-names`: those of Ingress objects and of Gateway routes whose load balancer has an address, and those of
 * annotations of Services, of the namespaces that allow it. What is not one of these hosts is another server's matter.
 */
export class RouteNames implements LocalNames {
  readonly index = new HostIndex();
  /** What is watched for them. */
  readonly resources: readonly OptionalResource[];
  readonly #options: RouteNamesOptions;
  readonly #answers: HostAnswers;
  readonly #sources = new Map<string, Source>();
  /** The namespaces with the label. */
  readonly #allowed = new Set<string>();
  readonly #gateways = new Map<string, HostRecords>();
  readonly #byNamespace = new Dependents();
  readonly #byGateway = new Dependents();
  readonly #byService = new Dependents();
  readonly #now: () => number;
  readonly #firstListsEndMs: number;
  #isSettled = false;
  #isWaiting = true;
  /** Undefined for one that may be a host. */
  #found: HostNode | undefined;

  constructor(options: RouteNamesOptions) {
    this.#options = options;
    this.#answers = new HostAnswers(options.ttlSeconds, options.random);
    this.#now = options.now ?? (() => performance.now());
    this.#firstListsEndMs = this.#now() + FIRST_LISTS_MS;
    this.resources = [
      ...ROUTES.map(({ kind, ...served }) => this.#routes(kind, served)),
      this.#gatewayResource(),
    ];
  }

  /** How many namespaces allow host names. */
  get allowedNamespaces(): number {
    return this.#allowed.size;
  }

  /** Each host with what it leads to, in any order. */
  *hosts(): Generator<ShownHost> {
    for (const { host, claims } of this.index.hosts()) yield { host, records: claims[0]!.records };
  }

  /** The names that several objects take, with different records. */
  *conflicts(): Generator<HostConflict> {
    for (const node of this.index.conflicts.values()) yield findingOf(node);
  }

  /** Nothing is answered before the oldest object of each name is known. */
  get isSynced(): boolean {
    if (this.#isSettled) return true;
    const { isSynced, isSettled } = this.#options;
    if (!isSynced()) return false;
    for (const { resource } of ROUTES) if (!isSettled(resource)) return false;
    this.#isSettled = isSettled(GATEWAYS.resource);
    return this.#isSettled;
  }

  #routes(
    kind: string,
    served: Pick<OptionalResource, 'resource' | 'group' | 'versions'>,
  ): OptionalResource {
    const isIngress = served.resource === 'ingresses';
    const resource: OptionalResource<never, Route> = {
      ...served,
      sink: {
        project: (_key, object, onRejected) =>
          isIngress ? projectIngress(object, onRejected) : projectRoute(object, onRejected),
        objectOf: (key, route) => (isIngress ? ingressOf(key, route) : gatewayRouteOf(key, route)),
        isSame: isSameRoute,
        bytesOf: routeBytes,
        change: (key, _before, after) => this.#putRoute(kind, key, after),
      },
    };
    return resource; // the watch passes what the sink has made
  }

  #gatewayResource(): OptionalResource {
    const resource: OptionalResource<never, Gateway> = {
      ...GATEWAYS,
      sink: {
        project: (_key, object, onRejected) => projectGateway(object, onRejected),
        objectOf: gatewayObjectOf,
        isSame: (before, after) => isSameHost(before.records, after.records),
        bytesOf: gatewayBytes,
        change: (key, _before, after) => {
          if (after?.records === undefined) this.#gateways.delete(key);
          else this.#gateways.set(key, after.records);
          this.#applyAll(this.#byGateway.of(key));
        },
      },
    };
    return resource; // as above
  }

  #putRoute(kind: string, key: string, route: Route | undefined): void {
    const id = `${kind} ${key}`;
    if (route === undefined || route.hosts.length === 0) {
      this.#put(id, undefined);
      return;
    }
    const { created, hosts, backends, gateways, records } = route;
    const namespace = namespaceOf(key);
    const services = backends.map((name) => `${namespace}/${name}`);
    this.#put(id, {
      owner: { id, created },
      namespace,
      hosts,
      gateways: services.length > 0 ? [] : gateways,
      services: [...new Set(services)],
      recordsAt:
        services.length > 0
          ? (place) => this.#clusterRecords(services[place]!)
          : () => records ?? this.#gatewayRecords(gateways),
    });
  }

  /** A service was added, changed or deleted (undefined), and the zone has it. */
  putService(key: string, service: Service | undefined): void {
    const id = `Service ${key}`;
    const { hostNames, outside } = service ?? {};
    if (hostNames === undefined) {
      if (this.#sources.has(id)) this.#put(id, undefined);
    } else {
      const { hosts, created } = hostNames;
      this.#put(id, {
        owner: { id, created },
        namespace: namespaceOf(key),
        hosts: hosts.map(({ host }) => host),
        gateways: [],
        services: [],
        recordsAt: (place) => (hosts[place]!.isInside ? this.#clusterRecords(key) : outside),
      });
    }
    this.#applyAll(this.#byService.of(key));
  }

  putNamespace(name: string, exists: boolean, hasHostNames = false): void {
    const isAllowed = exists && hasHostNames;
    if (isAllowed === this.#allowed.has(name)) return;
    if (isAllowed) this.#allowed.add(name);
    else this.#allowed.delete(name);
    this.#applyAll(this.#byNamespace.of(name));
  }

  #put(id: string, after: Source | undefined): void {
    const before = this.#sources.get(id);
    if (before !== undefined) {
      this.#byNamespace.remove(before.namespace, before);
      for (const key of before.gateways) this.#byGateway.remove(key, before);
      for (const key of before.services) this.#byService.remove(key, before);
    }
    if (after === undefined) this.#sources.delete(id);
    else {
      this.#sources.set(id, after);
      this.#byNamespace.add(after.namespace, after);
      for (const key of after.gateways) this.#byGateway.add(key, after);
      for (const key of after.services) this.#byService.add(key, after);
    }
    const kept = new Set(after?.hosts);
    for (const host of before?.hosts ?? []) {
      if (!kept.has(host)) this.#remove(host, before!.owner);
    }
    if (after !== undefined) this.#apply(after);
  }

  /** At once, or in turns of the event loop: a namespace may have thousands of hosts. */
  #applyAll(sources: Iterable<Source>): void {
    const all = [...sources];
    if (all.length > 0) void inTurns(this.#applying(all));
  }

  *#applying(sources: readonly Source[]): Iterator<void> {
    for (const source of sources) {
      if (this.#sources.get(source.owner.id) === source) this.#apply(source);
      yield;
    }
  }

  /** Brings the index to what the source leads to now. */
  #apply(source: Source): void {
    const { owner, hosts, namespace } = source;
    const isAllowed = this.#allowed.has(namespace);
    hosts.forEach((host, place) => {
      const records = isAllowed ? source.recordsAt(place) : undefined;
      if (records === undefined) this.#remove(host, owner);
      else if (this.index.put(host, { owner, records })) this.#announce(host);
    });
  }

  #remove(host: string, owner: HostOwner): void {
    if (this.index.remove(host, owner)) this.#announce(host);
  }

  /** Of a wildcard all names below the one above it: they may be cached under any. */
  #announce(host: string): void {
    const { changes } = this.#options;
    if (changes.isObserved) changes.add(encodeKey(host.replace(/^\*\./, '')));
  }

  /** The first gateway with an address, by its name. */
  #gatewayRecords(keys: readonly string[]): HostRecords | undefined {
    for (const key of keys) {
      const records = this.#gateways.get(key);
      if (records !== undefined) return records;
    }
    return undefined;
  }

  /** The cluster addresses of a service; undefined where it has none. */
  #clusterRecords(key: string): HostRecords | undefined {
    const namespace = namespaceOf(key);
    const services = this.#options.zone.namespaces.get(namespace)?.services;
    const service = services?.get(key.slice(namespace.length + 1))?.service;
    if (service?.kind !== 'cluster-ip') return undefined;
    const { ipv4, ipv6 } = service;
    return { ipv4, ipv6, target: undefined };
  }

  find(name: Uint8Array, length: number, trace?: Trace): boolean {
    const node = this.index.find(name, length);
    this.#found = node;
    if (node === undefined) return this.#mayBeHost;
    trace?.note(HOST_FOUND, findingOf(node));
    return true;
  }

  isAbove(name: Uint8Array, length: number): boolean {
    return this.index.has(name, length);
  }

  get #mayBeHost(): boolean {
    if (!this.#isWaiting) return false;
    this.#isWaiting = !this.isSynced && this.#now() < this.#firstListsEndMs;
    return this.#isWaiting;
  }

  targetOf(type: number): Uint8Array | undefined {
    return targetFor(this.#found!.claims[0]!.records, type);
  }

  answer(type: number, writer: AnswerWriter, owner?: Uint8Array): void {
    const { records } = this.#found!.claims[0]!;
    if (this.#answers.add(records, type, owner, writer)) return;
    // The domain has no SOA here: the cluster's is under the name itself, and limits how long this is cached (RFC 2308 section 3).
    const { zone, negativeTtlSeconds } = this.#options;
    writer.add(SECTION.AUTHORITY, owner, TYPE.SOA, negativeTtlSeconds, zone.soaRdata);
  }
}

function findingOf({ host, claims }: HostNode): HostFinding {
  const [owner, ...others] = claims.map((claim) => claim.owner.id);
  const shown = others.slice(0, MAX_SHOWN_OTHERS);
  if (others.length > shown.length) shown.push(`${others.length - shown.length} more`);
  return { host, owner: owner!, others: shown };
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}
