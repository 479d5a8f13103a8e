import { suffixOffset } from '@kube-dns/wire';
import { IPV4_BYTES } from '../cluster/packed-addresses.js';
import type { Port, PortList } from '../cluster/ports.js';
import type { PodMode } from '../config/naming.js';
import { type ClusterZone, matchWildcard } from '../zone/cluster-zone.js';
import { NO_SERVICE, type ServiceIndex } from '../zone/service-index.js';
import { podAddress, readHashLabel, readPodIpv4, ZoneName } from '../zone/zone-names.js';
import type { EndpointPlace, ZoneService } from '../zone/zone-service.js';

export interface ZoneQuestionOptions {
  readonly zone: ClusterZone;
  readonly pods: PodMode;
  /** Whether `*` is a wildcard; else no name with it exists. */
  readonly wildcards: boolean;
  readonly random: () => number;
  /**
   * The CNAME target of a federated name, in wire form; `undefined` for any other name, `null` while the
   * target is unknown.
   */
  readonly federate?: ((name: ZoneName) => Uint8Array | null | undefined) | undefined;
}

/**
 * The kind of a name in the zone. `interior` names exist without records (empty non-terminals, RFC 4592
 * section 2.2.2); `absent` ones do not exist; `unavailable` ones cannot be answered now; of `unfinished`
 * ones nothing was found within the limits of a wildcard.
 */
export type NameKind =
  | 'apex'
  | 'version'
  | 'name-server'
  | 'interior'
  | 'service'
  | 'cname'
  | 'pod'
  | 'wildcard'
  | 'unfinished'
  | 'unavailable'
  | 'absent';

/** The name of a question, or of a CNAME target, and its kind. Reused for every question. */
export class ZoneQuestion {
  kind: NameKind = 'absent';
  readonly name = new ZoneName();
  /** The part of the service, for the kind `service`. */
  readonly service: ServiceQuestion;
  /** The matching services, for the kind `wildcard`. */
  matches: readonly ZoneService[] = [];
  /** Whether these are all, or as many as one question may find. */
  areAllMatched = true;
  /** The target in wire form, for the kind `cname`. */
  cname: Uint8Array = new Uint8Array(0);
  /** Whether the CNAME is that of a federated name. */
  isFederated = false;
  /** The address, for the kind `pod`. */
  address: Uint8Array = new Uint8Array(0);
  readonly #ipv4 = new Uint8Array(IPV4_BYTES);
  readonly #options: ZoneQuestionOptions;
  readonly #zone: ClusterZone;

  constructor(options: ZoneQuestionOptions) {
    this.#options = options;
    this.#zone = options.zone;
    this.service = new ServiceQuestion(options.zone.index);
  }

  /** Reads a lower-cased name that the zone contains; `apexAt`: where the zone's own name begins in it. */
  read(
    bytes: Uint8Array,
    length: number,
    apexAt = suffixOffset(bytes, length, this.#zone.apex),
  ): void {
    const { name } = this;
    this.isFederated = false;
    name.read(bytes, length, apexAt);
    this.kind = name.hasWildcard ? this.#wildcardKind() : this.#kindOf();
  }

  #kindOf(): NameKind {
    const { name } = this;
    if (name.count === 0) return 'apex';
    if (name.is(0, 'svc')) return this.#serviceKind();
    if (name.is(0, 'pod')) return this.#options.pods === 'disabled' ? 'absent' : this.#podKind();
    if (name.is(0, 'dns')) {
      if (name.count === 1) return 'interior';
      return name.count === 2 && name.is(1, 'ns') ? 'name-server' : 'absent';
    }
    return name.count === 1 && name.is(0, 'dns-version') ? 'version' : 'absent';
  }

  /** Addresses win over CNAMEs: an answer can have only one CNAME, and nothing beside it. */
  #wildcardKind(): NameKind {
    if (!this.#options.wildcards) return 'absent';
    const hasPart = (service: ZoneService) => {
      if (service.service!.cname !== undefined) return true;
      this.service.read(service.number, this.name);
      return this.service.part !== 'absent';
    };
    const { random } = this.#options;
    const found = matchWildcard(this.#zone, this.name, hasPart, random);
    this.areAllMatched = found.isComplete;
    this.matches = found.services.filter(({ service }) => service!.cname === undefined);
    if (this.matches.length > 0) return 'wildcard';
    const cnames = found.services.filter(({ service }) => service!.cname !== undefined);
    if (cnames.length === 0) return this.areAllMatched ? 'absent' : 'unfinished';
    this.cname = cnames[Math.floor(random() * cnames.length)]!.service!.cname!;
    return 'cname';
  }

  #serviceKind(): NameKind {
    const { name } = this;
    const { bytes, length, count } = name;
    if (count === 1) return 'interior';
    if (count === 2) {
      return this.#zone.hasNamespace(bytes, name.startOf(1)) ? 'interior' : 'absent';
    }
    const target = this.#options.federate?.(name);
    if (target === null) return 'unavailable';
    if (target !== undefined) {
      this.cname = target;
      this.isFederated = true;
      return 'cname';
    }
    const { index, services } = this.#zone;
    const number = index.find(bytes, name.startOf(SERVICE_LABELS - 1), length - services.length);
    if (number === NO_SERVICE) return 'absent';
    if (!index.isSingle(number)) {
      const kind = this.#kindOfService(index.serviceAt(number), count);
      if (kind !== 'service') return kind;
    }
    this.service.read(number, name);
    return this.service.part === 'absent' ? 'absent' : 'service';
  }

  #kindOfService(service: ZoneService, labels: number): NameKind {
    // Its endpoints arrived before its Service object.
    if (service.service === undefined) return 'absent';
    const { cname } = service.service;
    if (cname !== undefined) {
      this.cname = cname;
      return labels === SERVICE_LABELS ? 'cname' : 'absent';
    }
    // A headless service without a ready endpoint has no name (schema 1.1.0 section 2.4.1).
    return service.isHeadless && !service.hasEndpoints() ? 'absent' : 'service';
  }

  /** `<address>.<namespace>.pod.<zone>` is answered from the question alone. */
  #podKind(): NameKind {
    const { name } = this;
    const { hasAllNamespaces } = this.#zone;
    if (name.count === 1) return 'interior';
    if (name.count > 3) return 'absent';
    const isThere = !hasAllNamespaces || this.#zone.hasNamespace(name.bytes, name.startOf(1));
    if (!isThere) return 'absent';
    // Without a list any namespace may exist; NXDOMAIN would cover its pods, too (RFC 8020).
    if (name.count === 2) return 'interior';
    const at = name.startOf(2);
    const address = readPodIpv4(name.bytes, at, this.#ipv4) ? this.#ipv4 : podAddress(name.text(2));
    if (address === undefined) return 'absent';
    this.address = address;
    return 'pod';
  }
}

/** The part of a service that a name asks for; `absent` when the name does not exist. */
export type Part = 'service' | 'host' | 'protocol' | 'port' | 'host-port' | 'absent';

/** The service itself in place of a host number. */
export const WHOLE_SERVICE = -1;
/** Labels of a service's name before the apex: itself, its namespace, `svc`. */
export const SERVICE_LABELS = 3;
const NO_ENDPOINTS: readonly EndpointPlace[] = [];

/** The part of one service in a question: itself, a host, or a port. Reused for every question. */
export class ServiceQuestion {
  /** The number of the service in the index. */
  number = NO_SERVICE;
  /** Where the service's own name begins in the name that was read. */
  nameAt = 0;
  part: Part = 'absent';
  /** Whether all of its answer is in the index, see ServiceIndex; false for one of those that a wildcard matches. */
  isSingle = false;
  /**
   * Whether the answer is made from the slices of a headless service and not from its view: of a large
   * service, and of those that a wildcard matches, each of which would need one.
   */
  usesSlices = false;
  /** The host of `host` and `host-port`, in the service's view. */
  host = WHOLE_SERVICE;
  /** The endpoints of that host, where slices are used. */
  endpoints: readonly EndpointPlace[] = NO_ENDPOINTS;
  /** The ports of the last list that `findPorts` was asked about. */
  readonly range = new PortRange();
  /** The hash in the host's label, which other hosts of the service may share; else -1. */
  hash = -1;
  #name!: Uint8Array;
  /** Offsets of the labels of port and protocol. */
  #portAt = ANY_PORT;
  #protocolAt = 0;
  readonly #index: ServiceIndex;

  constructor(index: ServiceIndex) {
    this.#index = index;
  }

  get service(): ZoneService {
    return this.#index.serviceAt(this.number);
  }

  /** The ports of the service itself, where it is not headless. */
  get ports(): PortList {
    return this.#index.portsAt(this.number);
  }

  /** Writes the name of the service in wire form; returns its length. */
  writeName(out: Uint8Array, at: number): number {
    return this.#index.writeName(this.number, out, at);
  }

  /** Copies the address of a single service. */
  copyAddress(out: Uint8Array): void {
    this.#index.copyAddress(this.number, out, 0);
  }

  /** Reads the labels before those of an existing service, which has this number. */
  read(number: number, name: ZoneName): void {
    this.number = number;
    this.#name = name.bytes;
    this.nameAt = name.count < SERVICE_LABELS ? 0 : name.startOf(SERVICE_LABELS - 1);
    this.host = WHOLE_SERVICE;
    this.isSingle = !name.hasWildcard && this.#index.isSingle(number);
    this.usesSlices = !this.isSingle && usesSlices(this.service, name);
    this.part = this.#partOf(name);
  }

  /** Whether it asks for a port: by its name and protocol. */
  get hasPort(): boolean {
    return this.part === 'port' || this.part === 'host-port';
  }

  /** Finds the ports of a list that it asks for; false when there are none. */
  findPorts(list: PortList): boolean {
    return this.range.find(list, this.#name, this.#protocolAt, this.#portAt) > 0;
  }

  #partOf(name: ZoneName): Part {
    switch (name.count - SERVICE_LABELS) {
      // A wildcard in place of the service.
      case -1:
      case 0:
        return 'service';
      case 1:
        if (name.isService(SERVICE_LABELS)) return this.#readProtocol(name) ? 'protocol' : 'absent';
        return this.#readHost(name, SERVICE_LABELS) ? 'host' : 'absent';
      case 2:
        return this.#readPort(name) && this.#someServe() ? 'port' : 'absent';
      case 3:
        return this.#readPort(name) &&
          this.#readHost(name, SERVICE_LABELS + 2) &&
          this.#doesHostServe()
          ? 'host-port'
          : 'absent';
      default:
        return 'absent';
    }
  }

  #readProtocol(name: ZoneName): boolean {
    this.#protocolAt = name.startOf(SERVICE_LABELS);
    this.#portAt = ANY_PORT;
    return this.#someServe();
  }

  #readPort(name: ZoneName): boolean {
    this.#protocolAt = name.startOf(SERVICE_LABELS);
    this.#portAt = name.startOf(SERVICE_LABELS + 1);
    return name.isService(SERVICE_LABELS) && name.isService(SERVICE_LABELS + 1);
  }

  /** Finds the host by its configured or its generated label. */
  #readHost(name: ZoneName, fromApex: number): boolean {
    const at = name.startOf(fromApex);
    if (this.usesSlices) {
      this.endpoints = this.service.endpointsOf(this.#name, at);
      return this.endpoints.length > 0;
    }
    if (!this.service.mayHaveHost(this.#name, at)) return false;
    const { view } = this.service;
    this.hash = readHashLabel(this.#name, at);
    this.host = view.hostOfLabel(this.#name, at);
    if (this.host < 0 && this.hash >= 0) this.host = view.hostOfHash(this.hash, 0);
    else this.hash = -1;
    return this.host >= 0;
  }

  #doesHostServe(): boolean {
    const { service, host, endpoints } = this;
    if (!this.usesSlices) return this.findPorts(service.view.portsOf(host));
    return endpoints.some(({ group }) => this.findPorts(group.ports));
  }

  /** Whether the service, or any endpoint of a headless one, has the port. */
  #someServe(): boolean {
    if (this.isSingle) return this.findPorts(this.ports);
    const { service } = this;
    if (!service.isHeadless) return this.findPorts(this.ports);
    let last: PortList | undefined;
    for (const { groups } of service.slices) {
      for (const { ports } of groups) {
        if (ports !== last && this.findPorts(ports)) return true;
        last = ports;
      }
    }
    return false;
  }
}

function usesSlices(service: ZoneService, { hasWildcard }: ZoneName): boolean {
  return service.isLarge || (hasWildcard && service.isHeadless);
}

/** In place of the offset of a port's label: every named port of the protocol. */
export const ANY_PORT = -1;

/** The ports of a list that a question asks for; they are next to each other. Reused for every question. */
export class PortRange {
  first = 0;
  count = 0;

  /**
   * Finds the ports with the protocol and the name in the labels at these offsets, which begin with an
   * underscore; an unnamed port never matches. Returns how many there are.
   */
  find({ ports }: PortList, name: Uint8Array, protocolAt: number, portAt: number): number {
    let first = 0;
    for (let end = ports.length; first < end;) {
      const middle = (first + end) >>> 1;
      if (compare(ports[middle]!, name, protocolAt, portAt) < 0) first = middle + 1;
      else end = middle;
    }
    let end = first;
    for (let last = ports.length; end < last;) {
      // Mostly one port matches, or none: the first tries are the next ports.
      const middle = end < first + 2 ? end : (end + last) >>> 1;
      if (compare(ports[middle]!, name, protocolAt, portAt) > 0) last = middle;
      else end = middle + 1;
    }
    this.first = first;
    // Those without a name are the first of their protocol.
    const isNamed = end > first && ports[end - 1]!.name !== '';
    this.count = isNamed ? end - first : 0;
    return this.count;
  }
}

function compare(port: Port, name: Uint8Array, protocolAt: number, portAt: number): number {
  const order = compareLabel(port.protocol, name, protocolAt);
  return order !== 0 || portAt === ANY_PORT ? order : compareLabel(port.name, name, portAt);
}

/** Compares a text with the label at `at` after its underscore, by code unit as the list is sorted. */
function compareLabel(text: string, name: Uint8Array, at: number): number {
  const length = name[at]! - 1;
  for (let i = 0; i < length && i < text.length; i++) {
    const order = text.charCodeAt(i) - name[at + 2 + i]!;
    if (order !== 0) return order;
  }
  return text.length - length;
}
