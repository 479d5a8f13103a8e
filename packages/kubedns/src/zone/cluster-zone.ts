import {
  encodeKey,
  encodeRdata,
  NameTable,
  prependLabels,
  readUint32,
  writeUint32,
} from '@kube-dns/wire';
import type { RecordStore } from '../cluster/cluster-state.js';
import type { EndpointSlice } from '../cluster/endpoint-slice.js';
import { countOf, type PackedAddresses } from '../cluster/packed-addresses.js';
import type { Service } from '../cluster/service.js';
import { AddressIndex } from './address-index.js';
import { NO_SERVICE, ServiceIndex } from './service-index.js';
import type { ZoneName } from './zone-names.js';
import { areEndpointsChanged, ZoneService } from './zone-service.js';

const SOA_TIMES = { refresh: 28_800, retry: 7_200, expire: 604_800 };
/** The serial is the first of five 32-bit numbers at the end of the rdata. */
const SOA_SERIAL_FROM_END = 20;

export interface ClusterZoneOptions {
  /** As `cluster.local.`; every label is valid. */
  readonly domain: string;
  /** The SOA's minimum, in seconds. */
  readonly negativeTtlSeconds: number;
  readonly now?: () => number;
  /** Called after the records of a service, `namespace/name`, have changed. */
  readonly onServiceChange?: (key: string) => void;
}

/** A namespace that the API has listed, or that has a service. */
export interface ZoneNamespace extends NamespaceLists {
  /** `<namespace>.svc.<zone>` in wire form. */
  readonly name: Uint8Array;
  isDeclared: boolean;
  /** Its services by name; some may have endpoints but no Service object yet. */
  readonly services: Map<string, ZoneService>;
}

/**
 * The services and endpoints of one cluster, found by name and by address. No record is stored: records are
 * made from a service and its endpoints when they are asked for, so none can be stale.
 */
export class ClusterZone implements RecordStore {
  readonly apex: Uint8Array;
  /** `svc.<zone>`, the grandparent of the names of services. */
  readonly services: Uint8Array;
  readonly soaRdata: Uint8Array;
  /** Whether all namespaces are listed; else only those with a service are here. */
  hasAllNamespaces = false;
  /** Whether there are federated names: they depend on whether a service has endpoints. */
  hasFederations = false;
  /** Its services by their names and by their numbers. */
  readonly index: ServiceIndex;
  readonly #namespaces = new Map<string, ZoneNamespace>();
  readonly #namespacesByLabel = new NameTable<ZoneNamespace>();
  readonly #lists = new ServiceLists();
  /** The services by their cluster addresses, headless ones by the addresses of their endpoints. */
  readonly #addresses = new AddressIndex();
  readonly #now: () => number;
  readonly #onServiceChange: (key: string) => void;

  constructor(options: ClusterZoneOptions) {
    this.apex = encodeKey(options.domain);
    this.services = prependLabels(['svc'], this.apex);
    this.index = new ServiceIndex(this.services);
    this.#now = options.now ?? Date.now;
    this.#onServiceChange = options.onServiceChange ?? (() => undefined);
    const domain = options.domain.replace(/\.$/, '');
    this.soaRdata = encodeRdata({
      type: 'SOA',
      name: domain,
      data: {
        ...SOA_TIMES,
        mname: `ns.dns.${domain}`,
        rname: `hostmaster.${domain}`,
        serial: 0,
        minimum: options.negativeTtlSeconds,
      },
    });
    this.#countChange();
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

  /** The SOA's serial: the time of the last change, in seconds since the epoch. */
  get serial(): number {
    return readUint32(this.soaRdata, this.soaRdata.length - SOA_SERIAL_FROM_END);
  }

  set serial(serial: number) {
    writeUint32(this.soaRdata, this.soaRdata.length - SOA_SERIAL_FROM_END, serial);
  }

  get namespaces(): ReadonlyMap<string, ZoneNamespace> {
    return this.#namespaces;
  }

  /** The services in lists, for wildcards. */
  get lists(): Pick<ServiceLists, 'all' | 'named' | 'externalNames'> {
    return this.#lists;
  }

  /** The first index entry for an address; -1 when no service has it. */
  firstOwner(address: Uint8Array, size: number): number {
    return this.#addresses.first(this.#addresses.hashBytes(address, size));
  }

  nextOwner(place: number): number {
    return this.#addresses.next(place);
  }

  /** The number of a service that may have the address: the caller checks. */
  ownerAt(place: number): number {
    return this.#addresses.ownerOf(place);
  }

  /** Number of pairs of an address and a service that has it. */
  get addressCount(): number {
    return this.#addresses.size;
  }

  putService(key: string, service: Service | undefined): void {
    const entry = service === undefined ? this.#find(key) : this.#entryOf(key);
    if (entry === undefined) return;
    this.#indexAddresses(entry, false);
    const namespace = this.#namespaceOf(entry.namespaceName);
    if (entry.isExternalName) this.#lists.removeExternalName(namespace, entry);
    entry.put(service);
    this.index.update(entry);
    this.#indexAddresses(entry, true);
    if (entry.isExternalName) this.#lists.addExternalName(namespace, entry);
    this.#countChange();
    this.#dropUnused(entry);
    this.#onServiceChange(key);
  }

  replaceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    const last = before && this.#find(before.service);
    const wasServed = last?.hasEndpoints() ?? false;
    if (before !== undefined && last !== undefined) {
      if (last.isHeadless) this.#indexSlice(last, before, false);
      last.dropSlice(before);
      // The new state mostly belongs to the same service; it must not be dropped and made again.
      if (before.service !== after?.service) this.#settleSlice(last, wasServed, before, undefined);
    }
    if (after === undefined || after.service === '') return;
    const entry = this.#entryOf(after.service);
    const isServed = entry === last ? wasServed : entry.hasEndpoints();
    entry.addSlice(after);
    if (entry.isHeadless) this.#indexSlice(entry, after, true);
    this.#settleSlice(entry, isServed, entry === last ? before : undefined, after);
  }

  /** The endpoints of a service with an address are in no answer, but of federated names. */
  #settleSlice(
    entry: ZoneService,
    wasServed: boolean,
    before: EndpointSlice | undefined,
    after: EndpointSlice | undefined,
  ): void {
    const others = entry.slices.filter((slice) => slice !== after);
    const isChanged = entry.isHeadless && areEndpointsChanged(before, after, others);
    const isCounted = this.hasFederations && entry.hasEndpoints() !== wasServed;
    if (isChanged || isCounted) this.#countChange();
    this.#dropUnused(entry);
    if (entry.isHeadless) this.#onServiceChange(entry.key);
  }

  putNamespace(name: string, isDeclared: boolean): void {
    const namespace = isDeclared ? this.#namespaceOf(name) : this.#namespaces.get(name);
    if (namespace === undefined) return;
    const existed = exists(namespace);
    namespace.isDeclared = isDeclared;
    if (exists(namespace) !== existed) this.#countChange();
    this.#dropEmpty(name, namespace);
  }

  /** Adds all current addresses of the service to the index, or removes them. */
  #indexAddresses(entry: ZoneService, isAdding: boolean): void {
    const { service } = entry;
    if (service === undefined || service.kind === 'external-name') return;
    if (service.kind === 'headless') {
      for (const slice of entry.slices) this.#indexSlice(entry, slice, isAdding);
      return;
    }
    this.#index(entry, service.ipv4, isAdding);
    this.#index(entry, service.ipv6, isAdding);
  }

  #indexSlice(entry: ZoneService, slice: EndpointSlice, isAdding: boolean): void {
    for (const group of slice.groups) this.#index(entry, group, isAdding);
  }

  #index({ number }: ZoneService, { size, bytes }: PackedAddresses, isAdding: boolean): void {
    for (let at = 0; at < bytes.length; at += size) {
      const hash = this.#addresses.hashText(bytes, at, size);
      if (isAdding) this.#addresses.add(hash, number);
      else this.#addresses.remove(hash, number);
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
    this.#lists.add(namespace, name, entry);
    return entry;
  }

  #namespaceOf(name: string): ZoneNamespace {
    const found = this.#namespaces.get(name);
    if (found !== undefined) return found;
    const namespace: ZoneNamespace = {
      name: prependLabels([name], this.services),
      isDeclared: false,
      services: new Map<string, ZoneService>(),
      all: [],
      externalNames: [],
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
    this.#lists.remove(namespace, name, entry);
    this.index.remove(entry);
    this.#dropEmpty(namespaceName, namespace);
  }

  #dropEmpty(name: string, namespace: ZoneNamespace): void {
    if (namespace.isDeclared || namespace.services.size > 0) return;
    this.#namespaces.delete(name);
    this.#namespacesByLabel.delete(labelOf(namespace));
  }

  /** The serial is the time of the last change; it never decreases when the clock does. */
  #countChange(): void {
    const at = this.soaRdata.length - SOA_SERIAL_FROM_END;
    const seconds = Math.floor(this.#now() / 1000);
    writeUint32(this.soaRdata, at, Math.max(seconds, readUint32(this.soaRdata, at)));
  }
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

/** The services of a namespace in any order, and the ExternalName services among them. */
export interface NamespaceLists {
  readonly all: ZoneService[];
  readonly externalNames: ZoneService[];
}

/** The services of a zone in lists, so that a wildcard can begin at any of them. Their order has no meaning. */
export class ServiceLists implements NamespaceLists {
  readonly all: ZoneService[] = [];
  readonly externalNames: ZoneService[] = [];
  /** Most names are those of one service: an array for each would take more memory than that. */
  readonly #byName = new Map<string, ZoneService | ZoneService[]>();

  /** The services of this name in all namespaces. */
  named(name: string): readonly ZoneService[] {
    const named = this.#byName.get(name) ?? [];
    return Array.isArray(named) ? named : [named];
  }

  add(namespace: NamespaceLists, name: string, service: ZoneService): void {
    const named = this.#byName.get(name);
    if (named === undefined) this.#byName.set(name, service);
    else if (Array.isArray(named)) named.push(service);
    else this.#byName.set(name, [named, service]);
    namespace.all.push(service);
    this.all.push(service);
  }

  remove(namespace: NamespaceLists, name: string, service: ZoneService): void {
    const named = this.#byName.get(name);
    if (Array.isArray(named)) remove(named, service);
    if (named === service || (named as readonly ZoneService[]).length === 0) {
      this.#byName.delete(name);
    }
    remove(namespace.all, service);
    remove(this.all, service);
  }

  addExternalName(namespace: NamespaceLists, service: ZoneService): void {
    namespace.externalNames.push(service);
    this.externalNames.push(service);
  }

  removeExternalName(namespace: NamespaceLists, service: ZoneService): void {
    remove(namespace.externalNames, service);
    remove(this.externalNames, service);
  }
}

function remove(list: ZoneService[], service: ZoneService): void {
  const at = list.indexOf(service);
  const last = list.pop();
  if (last !== service && last !== undefined) list[at] = last;
}

/** Limit of the services of one answer. */
const MAX_MATCHES = 128;
/** Limit of the work of one question: a step is a service, or one of its slices or endpoints, looked at. */
const MAX_STEPS = 600;

/** What `matchWildcard` found. */
export interface WildcardMatches {
  readonly services: readonly ZoneService[];
  /** Whether these are all: else a limit ended the search. */
  readonly isComplete: boolean;
}

const NOTHING: WildcardMatches = { services: [], isComplete: true };

/**
 * The services that match a name with the label `*` (kubernetes/dns pkg/dns/treecache: `*` matches any
 * label that does not begin with an underscore; as the first label it is dropped). Removes such a first
 * label from `name`. Directly below a namespace only its ExternalName services match. `hasPart` tests
 * whether a service has the host or port in the labels before its name. The search begins at a random
 * service, so that each can be found where a limit ends it.
 */
export function matchWildcard(
  zone: ClusterZone,
  name: ZoneName,
  hasPart: (service: ZoneService) => boolean,
  random: () => number,
): WildcardMatches {
  if (name.isWildcard(name.count - 1)) {
    name.dropFirst();
    // The rest must be a node of the tree: hosts, with or without a port, are leaves.
    if (name.count === 4 || name.count === 6) return NOTHING;
  }
  if (name.count < 2 || !(name.is(0, 'svc') || name.isWildcard(0))) return NOTHING;
  for (let i = 3; i < name.count; i++) {
    if (name.isWildcard(i)) return NOTHING;
  }
  // A host is searched for among the endpoints; anything else is a port of slices.
  const isOfHost = name.count === 6 || (name.count === 4 && !name.isService(3));
  const candidates = candidatesFor(zone, name);
  const first = Math.floor(random() * candidates.length);
  const services: ZoneService[] = [];
  for (let i = 0, steps = 0; i < candidates.length; i++) {
    if (steps >= MAX_STEPS || services.length === MAX_MATCHES)
      return { services, isComplete: false };
    const service = candidates[(first + i) % candidates.length];
    steps += 1 + (service?.slices.length ?? 0);
    if (service === undefined || !isMatch(service, name)) continue;
    if (isOfHost) steps += service.endpointCount;
    if (hasPart(service)) services.push(service);
  }
  return { services, isComplete: true };
}

function isMatch(entry: ZoneService, name: ZoneName): boolean {
  const { service } = entry;
  if (service === undefined) return false;
  if (name.count === 2) return service.kind === 'external-name';
  if (service.cname !== undefined) return name.count === 3;
  return !entry.isHeadless || entry.hasEndpoints();
}

/** The services among which those of a name are. */
function candidatesFor(zone: ClusterZone, name: ZoneName): readonly (ZoneService | undefined)[] {
  const areExternalNames = name.count === 2;
  const isAnyService = areExternalNames || name.isWildcard(2);
  if (name.isWildcard(1)) {
    if (areExternalNames) return zone.lists.externalNames;
    return isAnyService ? zone.lists.all : zone.lists.named(name.text(2));
  }
  const namespace = zone.namespaces.get(name.text(1));
  if (namespace === undefined) return [];
  if (areExternalNames) return namespace.externalNames;
  return isAnyService ? namespace.all : [namespace.services.get(name.text(2))];
}

export type RecordCounts = Record<'A' | 'AAAA' | 'CNAME' | 'SRV' | 'PTR', number>;

/**
 * The number of records of services by type. An endpoint that is in two slices counts twice, so one pass
 * over the slices is enough. Records of single hosts are not counted.
 */
export function countRecords(zone: ClusterZone): RecordCounts {
  const counts = { A: 0, AAAA: 0, CNAME: 0, SRV: 0, PTR: zone.addressCount };
  for (const { services } of zone.namespaces.values()) {
    for (const service of services.values()) count(service, counts);
  }
  return counts;
}

function count(entry: ZoneService, counts: RecordCounts): void {
  const { service } = entry;
  if (service === undefined) return;
  if (service.cname !== undefined) {
    counts.CNAME++;
    return;
  }
  if (!entry.isHeadless) {
    countAddresses(service.ipv4, counts);
    countAddresses(service.ipv6, counts);
    counts.SRV += service.ports.ports.filter(({ name }) => name !== '').length;
    return;
  }
  for (const { groups } of entry.slices) {
    for (const group of groups) {
      countAddresses(group, counts);
      counts.SRV += group.ports.ports.filter(({ name }) => name !== '').length * countOf(group);
    }
  }
}

function countAddresses(addresses: PackedAddresses, counts: RecordCounts): void {
  counts[addresses.size === 4 ? 'A' : 'AAAA'] += countOf(addresses);
}
