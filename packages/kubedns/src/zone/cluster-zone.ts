import {
  encodeKey,
  encodeRdata,
  NameTable,
  prependLabels,
  readUint32,
  writeUint32,
} from '@kube-dns/wire';
import type { RecordStore } from '../watch/cluster-watch.js';
import type { EndpointSlice, PackedAddresses, Service } from '../watch/projections.js';
import { AddressIndex } from './address-index.js';
import { areEndpointsChanged } from './endpoint-change.js';
import { type NamespaceLists, ServiceLists } from './service-lists.js';
import { NO_SERVICE, ServiceIndex } from './service-index.js';
import { ZoneService } from './zone-service.js';

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
