import { encodeKey, NameTable, prependLabels } from '@kube-dns/wire';
import {
  countOf,
  type EndpointSlice,
  IPV4_BYTES,
  type PackedAddresses,
  type RecordStore,
  type Service,
} from '../watch/projections.js';
import { AddressIndex } from './address-index.js';
import { ClusterView } from './cluster-view.js';
import { NO_SERVICE, ServiceIndex } from './service-index.js';
import type { ZoneName } from './zone-names.js';
import { ZoneService } from './zone-service.js';
import { SoaRecord } from './soa-record.js';

export interface ClusterZoneOptions {
  /** As `cluster.local.`; every label is valid. */
  readonly domain: string;
  /** The SOA's minimum, in seconds. */
  readonly negativeTtlSeconds: number;
  readonly now?: () => number;
}

/** A namespace that the API has listed, or that has a service. */
export interface ZoneNamespace {
  /** `<namespace>.svc.<zone>` in wire form. */
  readonly name: Uint8Array;
  isDeclared: boolean;
  /** Its services by name; some may have endpoints but no Service object yet. */
  readonly services: Map<string, ZoneService>;
  readonly list: ServiceList;
}

/**
 * Services in an array, so that a wildcard can begin at any of them: first those of type ExternalName, then the others, each kind in
 * any order. A service has its place in it, so that it is removed in one step from a hundred thousand.
 */
class ServiceList {
  readonly all: ZoneService[] = [];
  /** How many are of type ExternalName. */
  externalNames = 0;
  readonly #place: 'placeInZone' | 'placeInNamespace';

  constructor(place: 'placeInZone' | 'placeInNamespace') {
    this.#place = place;
  }

  add(entry: ZoneService): void {
    this.#put(entry, this.all.length);
  }

  /** Removes a service that is in it. */
  remove(entry: ZoneService): void {
    this.setExternal(entry, false);
    const last = this.all.pop()!;
    if (last !== entry) this.#put(last, entry[this.#place]);
  }

  /** Whether a service that is in it is of type ExternalName from now on. */
  setExternal(entry: ZoneService, isExternal: boolean): void {
    const place = entry[this.#place];
    if (place < this.externalNames === isExternal) return;
    const border = isExternal ? this.externalNames++ : --this.externalNames;
    this.#put(this.all[border]!, place);
    this.#put(entry, border);
  }

  #put(entry: ZoneService, place: number): void {
    this.all[place] = entry;
    entry[this.#place] = place;
  }
}

/** The services that match a name with a wildcard. */
export interface WildcardMatches {
  readonly services: readonly ZoneService[];
  /** Whether these are all: else a limit ended the search. */
  readonly isComplete: boolean;
}

export type RecordCounts = Record<'A' | 'AAAA' | 'CNAME' | 'SRV' | 'PTR', number>;

/** Limit of the services of one answer to a wildcard. */
const MAX_MATCHES = 128;
/** Limit of the work of one wildcard: a step is a service, or one of its slices or endpoints, looked at. */
const MAX_STEPS = 600;
const NO_MATCHES: WildcardMatches = { services: [], isComplete: true };

/**
 * The services and endpoints of one cluster, found by name and by address. No record is stored: records are
 * made from a service and its endpoints when they are asked for, so none can be stale.
 */
export class ClusterZone implements RecordStore {
  readonly apex: Uint8Array;
  /** `svc.<zone>`, the grandparent of the names of services. */
  readonly services: Uint8Array;
  readonly #soa: SoaRecord;
  /** Whether all namespaces are listed; else only those with a service are here. */
  hasAllNamespaces = false;
  /** Whether there are federated names: they depend on whether a service has endpoints. */
  hasFederations = false;
  /** Its services by their names and by their numbers. */
  readonly index: ServiceIndex;
  /** The numbers of services by their cluster addresses, of headless ones by the addresses of their endpoints. */
  readonly addresses = new AddressIndex();
  readonly #namespaces = new Map<string, ZoneNamespace>();
  readonly #namespacesByLabel = new NameTable<ZoneNamespace>();
  readonly #list = new ServiceList('placeInZone');
  /** Counted as they come and go: to count a million of them takes some 30 ms, at each scrape of the metrics. */
  readonly #counts = { A: 0, AAAA: 0, CNAME: 0, SRV: 0 };
  /** Most names are those of one service: an array for each would take more memory than that. */
  readonly #byName = new Map<string, ZoneService | ZoneService[]>();
  readonly #views = new Set<ClusterView>();
  #onServiceChange: (key: string) => void = () => undefined;

  constructor(options: ClusterZoneOptions) {
    this.apex = encodeKey(options.domain);
    this.services = prependLabels(['svc'], this.apex);
    this.index = new ServiceIndex(this.services);
    this.#soa = new SoaRecord(options);
  }

  /** Calls after the records of a service, `namespace/name`, have changed, from now on. */
  listen(onServiceChange: (key: string) => void): void {
    this.#onServiceChange = onServiceChange;
  }

  /**
   * The service of a lower-cased name in wire form, which is below `svc.<zone>`; undefined when the API has
   * no such service.
   */
  findService(bytes: Uint8Array, start: number, end: number): ZoneService | undefined {
    const number = this.index.find(bytes, start, end - this.services.length);
    if (number === NO_SERVICE) return undefined;
    const found = this.index.serviceAt(number);
    return found.service === undefined ? undefined : found;
  }

  /** Whether the namespace of the lower-cased label at `at`, its length byte first, exists. */
  hasNamespace(bytes: Uint8Array, at: number): boolean {
    const found = this.#namespacesByLabel.get(bytes, at, at + 1 + bytes[at]!);
    return found !== undefined && exists(found);
  }

  get soaRdata(): Uint8Array {
    return this.#soa.rdata;
  }

  /** See SoaRecord. */
  get serial(): number {
    return this.#soa.serial;
  }

  /** A copy of the SOA's data for a secondary: the next change has a newer serial. */
  tellSoa(): Uint8Array {
    return this.#soa.tell();
  }

  /** All services as they are now; to be closed. */
  openView(): ClusterView {
    const view = new ClusterView(this.index, (closed) => this.#views.delete(closed));
    this.#views.add(view);
    return view;
  }

  get namespaces(): ReadonlyMap<string, ZoneNamespace> {
    return this.#namespaces;
  }

  get allServices(): readonly ZoneService[] {
    return this.#list.all;
  }

  /** The services of this name in all namespaces. */
  servicesNamed(name: string): readonly ZoneService[] {
    const named = this.#byName.get(name) ?? [];
    return Array.isArray(named) ? named : [named];
  }

  /**
   * The services that match a name with the label `*` (kubernetes/dns pkg/dns/treecache: `*` matches any
   * label that does not begin with an underscore; as the first label it is dropped). Removes such a first
   * label from `name`. Directly below a namespace only its ExternalName services match. `hasPart` tests
   * whether a service has the host or port in the labels before its name. The search begins at a random
   * service, so that each can be found where a limit ends it.
   */
  matchWildcard(
    name: ZoneName,
    hasPart: (service: ZoneService) => boolean,
    random: () => number,
  ): WildcardMatches {
    if (name.isWildcard(name.count - 1)) {
      name.dropFirst();
      // The rest must be a node of the tree: hosts, with or without a port, are leaves.
      if (name.count === 4 || name.count === 6) return NO_MATCHES;
    }
    if (name.count < 2 || !(name.is(0, 'svc') || name.isWildcard(0))) return NO_MATCHES;
    for (let i = 3; i < name.count; i++) {
      if (name.isWildcard(i)) return NO_MATCHES;
    }
    // A host is searched for among the endpoints; anything else is a port of slices.
    const isOfHost = name.count === 6 || (name.count === 4 && !name.isService(3));
    const { candidates, count } = this.#candidatesFor(name);
    const first = Math.floor(random() * count);
    const services: ZoneService[] = [];
    for (let i = 0, steps = 0; i < count; i++) {
      if (steps >= MAX_STEPS || services.length === MAX_MATCHES)
        return { services, isComplete: false };
      const service = candidates[(first + i) % count]!;
      steps += 1 + service.slices.length;
      if (!isMatch(service, name)) continue;
      if (isOfHost) steps += service.endpointCount;
      if (hasPart(service)) services.push(service);
    }
    return { services, isComplete: true };
  }

  /** The services among which those of a name with a wildcard are: the first `count` of an array. */
  #candidatesFor(name: ZoneName): { candidates: readonly ZoneService[]; count: number } {
    const isOfExternals = name.count === 2;
    const isAnyService = isOfExternals || name.isWildcard(2);
    const namespace = name.isWildcard(1) ? undefined : this.#namespaces.get(name.text(1));
    let candidates: readonly ZoneService[] = [];
    if (isAnyService) {
      const list = name.isWildcard(1) ? this.#list : namespace?.list;
      candidates = list?.all ?? [];
      if (isOfExternals) return { candidates, count: list?.externalNames ?? 0 };
    } else if (name.isWildcard(1)) candidates = this.servicesNamed(name.text(2));
    else {
      const service = namespace?.services.get(name.text(2));
      if (service !== undefined) candidates = [service];
    }
    return { candidates, count: candidates.length };
  }

  /** The number of its records by type. An endpoint that is in two slices counts twice. Records of single hosts are not counted. */
  countRecords(): RecordCounts {
    const { A, AAAA, CNAME, SRV } = this.#counts;
    return { A, AAAA, CNAME, SRV, PTR: this.addresses.size };
  }

  /** The service with a key (`namespace/name`), if its object is known. */
  serviceOf(key: string): Service | undefined {
    return this.#find(key)?.service;
  }

  putService(key: string, service: Service | undefined): void {
    const entry = service === undefined ? this.#find(key) : this.#entryOf(key);
    if (entry === undefined) return;
    this.#keep(entry);
    const namespace = this.#namespaceOf(entry.namespaceName);
    this.#indexAddresses(entry, false);
    entry.put(service);
    this.index.update(entry);
    this.#indexAddresses(entry, true);
    for (const list of [this.#list, namespace.list]) list.setExternal(entry, entry.isExternalName);
    this.#soa.change();
    this.#dropUnused(entry);
    this.#onServiceChange(key);
  }

  replaceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    const last = before && this.#find(before.service);
    const wasServed = last?.hasEndpoints ?? false;
    if (before !== undefined && last !== undefined) {
      this.#keep(last);
      if (last.isHeadless) this.#indexSlice(last, before, false);
      last.dropSlice(before);
      // The new state mostly belongs to the same service; it must not be dropped and made again.
      if (before.service !== after?.service) this.#settleSlice(last, wasServed, before, undefined);
    }
    if (after === undefined || after.service === '') return;
    const entry = this.#entryOf(after.service);
    const isServed = entry === last ? wasServed : entry.hasEndpoints;
    this.#keep(entry);
    entry.addSlice(after);
    if (entry.isHeadless) this.#indexSlice(entry, after, true);
    this.#settleSlice(entry, isServed, entry === last ? before : undefined, after);
  }

  putNamespace(name: string, isDeclared: boolean): void {
    const namespace = isDeclared ? this.#namespaceOf(name) : this.#namespaces.get(name);
    if (namespace === undefined) return;
    const existed = exists(namespace);
    namespace.isDeclared = isDeclared;
    if (exists(namespace) !== existed) this.#soa.change();
    this.#dropEmpty(name, namespace);
  }

  /** The endpoints of a service with an address are in no answer, but of federated names. */
  #settleSlice(
    entry: ZoneService,
    wasServed: boolean,
    before: EndpointSlice | undefined,
    after: EndpointSlice | undefined,
  ): void {
    const isChanged = entry.isHeadless && entry.isChangedBy(before, after);
    const isCounted = this.hasFederations && entry.hasEndpoints !== wasServed;
    if (isChanged || isCounted) this.#soa.change();
    this.#dropUnused(entry);
    if (entry.isHeadless) this.#onServiceChange(entry.key);
  }

  /** Adds all current addresses of the service to the index and its records to the counts, or removes them. */
  #indexAddresses(entry: ZoneService, isAdding: boolean): void {
    const { service } = entry;
    if (service === undefined) return;
    if (service.kind === 'headless') {
      for (const slice of entry.slices) this.#indexSlice(entry, slice, isAdding);
      return;
    }
    const { ipv4, ipv6, cname } = service;
    if (cname === undefined)
      this.#count(countOf(ipv4), countOf(ipv6), namedPorts(service), isAdding);
    else this.#counts.CNAME += isAdding ? 1 : -1;
    if (service.kind === 'external-name') return;
    this.#index(entry, ipv4, isAdding);
    this.#index(entry, ipv6, isAdding);
  }

  #indexSlice(entry: ZoneService, slice: EndpointSlice, isAdding: boolean): void {
    for (const group of slice.groups) {
      const addresses = countOf(group);
      const [ipv4, ipv6] = group.size === IPV4_BYTES ? [addresses, 0] : [0, addresses];
      this.#count(ipv4, ipv6, namedPorts(group) * addresses, isAdding);
      this.#index(entry, group, isAdding);
    }
  }

  #count(ipv4: number, ipv6: number, srv: number, isAdding: boolean): void {
    const sign = isAdding ? 1 : -1;
    this.#counts.A += sign * ipv4;
    this.#counts.AAAA += sign * ipv6;
    this.#counts.SRV += sign * srv;
  }

  #index({ number }: ZoneService, { size, bytes }: PackedAddresses, isAdding: boolean): void {
    for (let at = 0; at < bytes.length; at += size) {
      const hash = this.addresses.hashText(bytes, at, size);
      if (isAdding) this.addresses.add(hash, number);
      else this.addresses.remove(hash, number);
    }
  }

  /** The service of a key; undefined when there is none. */
  #find(key: string): ZoneService | undefined {
    const [namespaceName = '', name = ''] = key.split('/');
    return this.#namespaces.get(namespaceName)?.services.get(name);
  }

  /** Finds or creates the service of a key; throws when its name is too long for this zone. */
  #entryOf(key: string): ZoneService {
    const found = this.#find(key);
    if (found !== undefined) return found;
    const [namespaceName = '', name = ''] = key.split('/');
    const wireName = prependLabels([name, namespaceName], this.services);
    const labels = wireName.subarray(0, wireName.length - this.services.length);
    const namespace = this.#namespaceOf(namespaceName);
    const entry = new ZoneService(key, this.index.nextNumber);
    this.index.add(entry, labels);
    namespace.services.set(name, entry);
    for (const list of [this.#list, namespace.list]) list.add(entry);
    const named = this.#byName.get(name);
    if (named === undefined) this.#byName.set(name, entry);
    else if (Array.isArray(named)) named.push(entry);
    else this.#byName.set(name, [named, entry]);
    return entry;
  }

  #namespaceOf(name: string): ZoneNamespace {
    const found = this.#namespaces.get(name);
    if (found !== undefined) return found;
    const namespace: ZoneNamespace = {
      name: prependLabels([name], this.services),
      isDeclared: false,
      services: new Map<string, ZoneService>(),
      list: new ServiceList('placeInNamespace'),
    };
    this.#namespaces.set(name, namespace);
    this.#namespacesByLabel.set(labelOf(namespace), namespace);
    return namespace;
  }

  /** Drops the service and its namespace when they are empty. */
  #dropUnused(entry: ZoneService): void {
    if (!entry.isEmpty) return;
    const [namespaceName = '', name = ''] = entry.key.split('/');
    const namespace = this.#namespaceOf(namespaceName);
    namespace.services.delete(name);
    for (const list of [this.#list, namespace.list]) list.remove(entry);
    const named = this.#byName.get(name);
    if (Array.isArray(named) && named.length > 1) removeFrom(named, entry);
    else this.#byName.delete(name);
    this.index.remove(entry);
    this.#dropEmpty(namespaceName, namespace);
  }

  #dropEmpty(name: string, namespace: ZoneNamespace): void {
    if (namespace.isDeclared || namespace.services.size > 0) return;
    this.#namespaces.delete(name);
    this.#namespacesByLabel.delete(labelOf(namespace));
  }

  /** It changes now: the views that are open keep what it was. */
  #keep(entry: ZoneService): void {
    for (const view of this.#views) view.keep(entry);
  }
}

/** Whether a service has the name with a wildcard, or names below itself that may be this one. */
function isMatch(entry: ZoneService, name: ZoneName): boolean {
  const { service } = entry;
  if (service === undefined) return false;
  if (name.count === 2) return service.kind === 'external-name';
  if (service.cname !== undefined) return name.count === 3;
  return !entry.isHeadless || entry.hasEndpoints;
}

/** The first label of a namespace's name, its length byte first. */
function labelOf({ name }: ZoneNamespace): Uint8Array {
  return name.subarray(0, 1 + name[0]!);
}

/** Endpoints without a Service object do not make a namespace exist. */
function exists({ isDeclared, services }: ZoneNamespace): boolean {
  if (isDeclared) return true;
  for (const { service } of services.values()) {
    if (service !== undefined) return true;
  }
  return false;
}

function namedPorts({ ports }: Pick<Service, 'ports'>): number {
  return ports.ports.filter(({ name }) => name !== '').length;
}

/** Removes a service from a list in which it is, whose order has no meaning. */
function removeFrom(list: ZoneService[], service: ZoneService): void {
  const at = list.indexOf(service);
  const last = list.pop();
  if (last !== service && last !== undefined) list[at] = last;
}
