import { TraceKind } from '@kube-dns/base';
import { decodeName, suffixOffset } from '@kube-dns/wire';
import type { PodMode } from '../config/flags.js';
import { IPV4_BYTES, type Port, type PortList } from '../watch/projections.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { NO_SERVICE, type ServiceIndex } from '../zone/service-index.js';
import { podAddress, readPodIpv4, ZoneName } from '../zone/zone-names.js';
import { findEndpoint, type Hosts, portsOf, type ZoneService } from '../zone/zone-service.js';

/** Labels of a service's name before the apex: itself, its namespace, `svc`. */
export const SERVICE_LABELS = 3;

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

/** What a name of the kind `absent` lacks. */
export type Missing =
  /** Directly below the zone there is no such name, or none below one that has no names below it. */
  | 'subtree'
  | 'wildcard'
  | 'namespace'
  | 'service'
  /** A service of type ExternalName has no names below it. */
  | 'below-external-name'
  | 'endpoints'
  | 'host'
  | 'port'
  /** No name of a service has so many labels. */
  | 'below-service'
  /** The names of pods are off. */
  | 'pod-names'
  /** The label is no address. */
  | 'pod-address'
  | 'below-pod';

/** How a name of the zone was read, for its explanation. */
export interface ZoneReading {
  readonly kind: NameKind;
  readonly missing: Missing | undefined;
  /** The labels below the zone, the one next to it first; safe to show. */
  readonly labels: readonly string[];
  readonly hasWildcard: boolean;
  readonly isFederated: boolean;
  /** Of the kind `service`. */
  readonly part: Part;
  /** Of the kind `pod`. */
  readonly address: Uint8Array;
  /** Of the kind `cname`. */
  readonly cname: Uint8Array;
  /** Of the kind `wildcard`: the services, and whether these are all. */
  readonly matches: readonly ZoneService[];
  readonly areAllMatched: boolean;
}

/** How the name of a question in the zone was read. */
export const ZONE_READ = new TraceKind<ZoneReading>();

/** The name of a question, or of a CNAME target, and its kind. Reused for every question. */
export class ZoneQuestion {
  kind: NameKind = 'absent';
  /** For the kind `absent`. */
  missing: Missing = 'subtree';
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
    if (name.is(0, 'pod')) return this.#podKind();
    if (name.is(0, 'dns')) {
      if (name.count === 1) return 'interior';
      if (name.count === 2 && name.is(1, 'ns')) return 'name-server';
    } else if (name.count === 1 && name.is(0, 'dns-version')) return 'version';
    return this.#absent('subtree');
  }

  #absent(missing: Missing): NameKind {
    this.missing = missing;
    return 'absent';
  }

  /** What was read, as it stays when the next name is read. */
  reading(): ZoneReading {
    const { kind, name, isFederated, address, cname, matches, areAllMatched } = this;
    const { hasWildcard } = name;
    return {
      kind,
      missing: kind === 'absent' ? this.missing : undefined,
      labels: Array.from({ length: name.count }, (_, i) => shownLabel(name.bytes, name.startOf(i))),
      hasWildcard,
      isFederated,
      part: this.service.part,
      address: address.slice(),
      cname,
      matches,
      areAllMatched,
    };
  }

  /** Addresses win over CNAMEs: an answer can have only one CNAME, and nothing beside it. */
  #wildcardKind(): NameKind {
    if (!this.#options.wildcards) return this.#absent('wildcard');
    const hasPart = (service: ZoneService) => {
      if (service.service!.cname !== undefined) return true;
      this.service.read(service.number, this.name);
      return this.service.part !== 'absent';
    };
    const { random } = this.#options;
    const found = this.#zone.matchWildcard(this.name, hasPart, random);
    this.areAllMatched = found.isComplete;
    this.matches = found.services.filter(({ service }) => service!.cname === undefined);
    if (this.matches.length > 0) return 'wildcard';
    const cnames = found.services.filter(({ service }) => service!.cname !== undefined);
    if (cnames.length === 0) return this.areAllMatched ? this.#absent('wildcard') : 'unfinished';
    this.cname = cnames[Math.floor(random() * cnames.length)]!.service!.cname!;
    return 'cname';
  }

  #serviceKind(): NameKind {
    const { name } = this;
    const { bytes, length, count } = name;
    if (count === 1) return 'interior';
    if (count === 2) {
      if (this.#zone.hasNamespace(bytes, name.startOf(1))) return 'interior';
      return this.#absent('namespace');
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
    if (number === NO_SERVICE) return this.#absent('service');
    if (!index.isSingle(number)) {
      const kind = this.#kindOfService(index.serviceAt(number), count);
      if (kind !== 'service') return kind;
    }
    this.service.read(number, name);
    return this.service.part === 'absent' ? this.#absent(this.service.missing) : 'service';
  }

  #kindOfService(service: ZoneService, labels: number): NameKind {
    // Its endpoints arrived before its Service object.
    if (service.service === undefined) return this.#absent('service');
    const { cname } = service.service;
    if (cname !== undefined) {
      this.cname = cname;
      return labels === SERVICE_LABELS ? 'cname' : this.#absent('below-external-name');
    }
    // A headless service without a ready endpoint has no name (schema 1.1.0 section 2.4.1).
    return service.isHeadless && !service.hasEndpoints ? this.#absent('endpoints') : 'service';
  }

  /** `<address>.<namespace>.pod.<zone>` is answered from the question alone. */
  #podKind(): NameKind {
    const { name } = this;
    const { hasAllNamespaces } = this.#zone;
    if (this.#options.pods === 'disabled') return this.#absent('pod-names');
    if (name.count === 1) return 'interior';
    if (name.count > 3) return this.#absent('below-pod');
    if (hasAllNamespaces && !this.#zone.hasNamespace(name.bytes, name.startOf(1))) {
      return this.#absent('namespace');
    }
    // Without a list any namespace may exist; NXDOMAIN would cover its pods, too (RFC 8020).
    if (name.count === 2) return 'interior';
    const at = name.startOf(2);
    const address = readPodIpv4(name.bytes, at, this.#ipv4) ? this.#ipv4 : podAddress(name.text(2));
    if (address === undefined) return this.#absent('pod-address');
    this.address = address;
    return 'pod';
  }
}

/** A label at an offset, as it can be shown. */
function shownLabel(bytes: Uint8Array, at: number): string {
  return decodeName(Uint8Array.of(...bytes.subarray(at, at + 1 + bytes[at]!), 0));
}

/** The part of a service that a name asks for; `absent` when the name does not exist. */
export type Part = 'service' | 'host' | 'protocol' | 'port' | 'host-port' | 'absent';

/** In place of the offset of a port's label: every named port of the protocol. */
const ANY_PORT = -1;
/** Maximum endpoints of one hostname: more do not fit into any message. */
const MAX_HOSTS = 4_096;

/** The part of one service in a question: itself, a host, or a port. Reused for every question. */
export class ServiceQuestion {
  /** The number of the service in the index. */
  number = NO_SERVICE;
  /** Where the service's own name begins in the name that was read. */
  nameAt = 0;
  part: Part = 'absent';
  /** For the part `absent`. */
  missing: Missing = 'host';
  /** Whether all of its answer is in the index, see ServiceIndex; false for one of those that a wildcard matches. */
  isSingle = false;
  /**
   * Whether the answer is made from the slices of a headless service and not from its set of endpoints: of a large
   * service, and of those that a wildcard matches, each of which would need a set.
   */
  usesSlices = false;
  /** The hosts of `host` and `host-port`, by number; several of a set only where they share a generated label. */
  readonly hosts: Hosts[] = [];
  readonly hostNumbers: number[] = [];
  hostCount = 0;
  /** The ports that the last `findPorts` found: they are next to each other in the list. */
  firstPort = 0;
  portCount = 0;
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

  /** Reads the labels before those of an existing service, which has this number. */
  read(number: number, name: ZoneName): void {
    this.number = number;
    this.#name = name.bytes;
    this.nameAt = name.count < SERVICE_LABELS ? 0 : name.startOf(SERVICE_LABELS - 1);
    this.hostCount = 0;
    this.isSingle = !name.hasWildcard && this.#index.isSingle(number);
    this.usesSlices = !this.isSingle && usesSlices(this.service, name);
    this.part = this.#partOf(name);
  }

  /** Whether it asks for a port: by its name and protocol. */
  get hasPort(): boolean {
    return this.part === 'port' || this.part === 'host-port';
  }

  /** How many of its hosts are targets: those of a set that share a label are one. */
  get targetCount(): number {
    return this.usesSlices ? this.hostCount : Math.min(this.hostCount, 1);
  }

  /**
   * Finds the ports of a list that it asks for, by protocol and name; an unnamed port never matches. False when there
   * are none.
   */
  findPorts({ ports }: PortList): boolean {
    let first = 0;
    for (let end = ports.length; first < end;) {
      const middle = (first + end) >>> 1;
      if (this.#comparePort(ports[middle]!) < 0) first = middle + 1;
      else end = middle;
    }
    let end = first;
    for (let last = ports.length; end < last;) {
      // Mostly one port matches, or none: the first tries are the next ports.
      const middle = end < first + 2 ? end : (end + last) >>> 1;
      if (this.#comparePort(ports[middle]!) > 0) last = middle;
      else end = middle + 1;
    }
    this.firstPort = first;
    // Those without a name are the first of their protocol.
    const isNamed = end > first && ports[end - 1]!.name !== '';
    this.portCount = isNamed ? end - first : 0;
    return isNamed;
  }

  #comparePort({ protocol, name }: Port): number {
    const order = compareLabel(protocol, this.#name, this.#protocolAt);
    return order !== 0 || this.#portAt === ANY_PORT
      ? order
      : compareLabel(name, this.#name, this.#portAt);
  }

  #partOf(name: ZoneName): Part {
    switch (name.count - SERVICE_LABELS) {
      // A wildcard in place of the service.
      case -1:
      case 0:
        return 'service';
      case 1:
        if (name.isService(SERVICE_LABELS)) {
          return this.#readProtocol(name) ? 'protocol' : this.#absent('port');
        }
        return this.#readHost(name, SERVICE_LABELS) ? 'host' : this.#absent('host');
      case 2:
        return this.#readPort(name) && this.#someServe() ? 'port' : this.#absent('port');
      case 3:
        if (!this.#readPort(name)) return this.#absent('port');
        if (!this.#readHost(name, SERVICE_LABELS + 2)) return this.#absent('host');
        return this.#doesHostServe() ? 'host-port' : this.#absent('port');
      default:
        return this.#absent('below-service');
    }
  }

  #absent(missing: Missing): Part {
    this.missing = missing;
    return 'absent';
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

  /** Finds the hosts with a configured or a generated label. */
  #readHost(name: ZoneName, fromApex: number): boolean {
    const at = name.startOf(fromApex);
    if (this.usesSlices) {
      for (const { groups } of this.service.slices) {
        for (const group of groups) {
          let host = findEndpoint(group, this.#name, at, 0);
          while (host >= 0 && this.#addHost(group, host)) {
            host = findEndpoint(group, this.#name, at, host + 1);
          }
        }
      }
    } else {
      const set = this.service.endpointsWith(this.#name, at);
      let host = set === undefined ? -1 : set.find(this.#name, at);
      while (host >= 0 && this.#addHost(set!, host)) host = set!.findNext(host);
    }
    return this.hostCount > 0;
  }

  /** False when there is no room for another one. */
  #addHost(hosts: Hosts, host: number): boolean {
    if (this.hostCount === MAX_HOSTS) return false;
    this.hosts[this.hostCount] = hosts;
    this.hostNumbers[this.hostCount++] = host;
    return true;
  }

  #doesHostServe(): boolean {
    for (let i = 0; i < this.targetCount; i++) {
      if (this.findPorts(portsOf(this.hosts[i]!, this.hostNumbers[i]!))) return true;
    }
    return false;
  }

  /** Whether the service, or any endpoint of a headless one, has the port. */
  #someServe(): boolean {
    if (this.isSingle || !this.service.isHeadless) return this.findPorts(this.ports);
    let last: PortList | undefined;
    for (const { groups } of this.service.slices) {
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

/** Compares a text with the label at `at` after its underscore, by code unit as the list is sorted. */
function compareLabel(text: string, name: Uint8Array, at: number): number {
  const length = name[at]! - 1;
  for (let i = 0; i < length && i < text.length; i++) {
    const order = text.charCodeAt(i) - name[at + 2 + i]!;
    if (order !== 0) return order;
  }
  return text.length - length;
}
