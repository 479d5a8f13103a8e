import {
  type AnswerWriter,
  FNV_OFFSET,
  hashByte,
  MAX_NAME_BYTES,
  randomSeed,
  type Section,
  SECTION,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import {
  type AddressSize,
  countOf,
  type EndpointGroup,
  IPV4_BYTES,
  IPV6_BYTES,
  NO_PORTS,
  type PackedAddresses,
  type Port,
  type PortList,
} from '../watch/projections.js';
import { NO_SERVICE, type ServiceIndex } from '../zone/service-index.js';
import { addressType, MAX_LABEL_BYTES, type ZoneName } from '../zone/zone-names.js';
import {
  EndpointSet,
  findEndpoint,
  type Hosts,
  MAX_SET_ENDPOINTS,
  portsOf,
  type ZoneService,
} from '../zone/zone-service.js';
import { MAX_DRAWS, Shuffle } from './shuffle.js';
import { findZone } from '../zone/zonal-names.js';

/** Labels of a service's name before the apex: itself, its namespace, `svc`. */
export const SERVICE_LABELS = 3;
/** Priority of every SRV record, and the total weight of an RRset (skydns server/server.go). */
export const SRV_PRIORITY = 10;
export const SRV_TOTAL_WEIGHT = 100;
/** Where the target begins in the rdata. */
const SRV_TARGET_OFFSET = 6;
/** The port in the SRV record of a service without ports, as in kubernetes/dns. */
const NO_PORT = 0;
/** Beyond this number of services an SRV answer has no addresses of targets: writing their names takes longest. */
const MAX_SERVICES_WITH_TARGETS = 16;
/** The label of a host is written before it is known whether the name is too long. */
const HOST_NAME_BYTES = MAX_LABEL_BYTES + MAX_NAME_BYTES;

const FAMILIES = [IPV4_BYTES, IPV6_BYTES] as const;
/** Scratch of `addAddress`, valid within one call: it must not allocate. */
const addressRdata = new Uint8Array(IPV6_BYTES);

/** The part of a service that a name asks for; `absent` when the name does not exist. */
export type Part =
  | 'service'
  | 'host'
  | 'protocol'
  | 'port'
  | 'host-port'
  /** The service itself, with the endpoints of one zone, or of all where a zone is preferred that has none. */
  | 'zonal'
  /** A zone without endpoints, or a name above those of zones. */
  | 'zonal-empty'
  | 'absent';

/** What a service lacks that a name asks for; `below-service`: no name of a service has so many labels. */
export type MissingPart = 'host' | 'port' | 'below-service';

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
  missing: MissingPart = 'host';
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
  /** The zone whose endpoints alone are asked for; undefined: those of all. */
  zone: string | undefined;
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

  /** The set that answers are made of, where they are not made from the slices. */
  get endpoints(): EndpointSet {
    const { service, zone } = this;
    return zone === undefined ? service.endpoints : service.endpointsOfZone(zone);
  }

  /** Reads the labels before those of a headless service, which are those of a zonal name: see `isZonal`. */
  readZonal(number: number, name: ZoneName): void {
    this.number = number;
    this.#name = name.bytes;
    this.nameAt = name.startOf(SERVICE_LABELS - 1);
    this.hostCount = 0;
    this.isSingle = false;
    this.usesSlices = this.service.isLarge;
    this.zone = undefined;
    this.part = 'zonal-empty';
    if (name.count < SERVICE_LABELS + 3) return;
    const directive = SERVICE_LABELS + 1;
    this.zone = findZone(this.service, name.bytes, name.startOf(directive));
    if (this.zone !== undefined || name.is(directive, 'prefer')) this.part = 'zonal';
  }

  /** Reads the labels before those of an existing service, which has this number. */
  read(number: number, name: ZoneName): void {
    this.number = number;
    this.zone = undefined;
    this.#name = name.bytes;
    this.nameAt = name.count < SERVICE_LABELS ? 0 : name.startOf(SERVICE_LABELS - 1);
    this.hostCount = 0;
    this.isSingle = !name.hasWildcard && this.#index.isSingle(number);
    this.usesSlices = !this.isSingle && usesSlices(this.service, name);
    this.part = this.#partOf(name);
  }

  /** Whether the endpoints of a group of a slice are in the zone that it asks for, if any. */
  takes(group: EndpointGroup): boolean {
    return this.zone === undefined || group.zone === this.zone;
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

  #absent(missing: MissingPart): Part {
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

/**
 * Writes the records of services, in random order, until the message is full. Answers about one service that
 * is not large allocate nothing. The name and the address of a single service, which most are, come out of the block of
 * the index where it was found, and no object is read but its ports.
 *
 * An `owner` that is undefined means the name of the question.
 */
export class ServiceAnswerer {
  readonly #index: ServiceIndex;
  readonly #ttlSeconds: number;
  readonly #shuffle: Shuffle;
  readonly #records = new NumberedRecords();
  readonly #targets: SrvTargets;
  readonly #srv = new Uint8Array(SRV_TARGET_OFFSET + HOST_NAME_BYTES);
  readonly #address = new Uint8Array(IPV4_BYTES);
  /** The addresses, or the targets with their ports, that an answer has so far which may find one twice. */
  readonly #seen = new SeenRecords();
  /** For an answer about several services: its number of SRV records; else 0. */
  #isOfSeveral = false;
  #srvCount = 0;

  /** `index`: of the services in the questions. */
  constructor(index: ServiceIndex, ttlSeconds: number, random: () => number) {
    this.#index = index;
    this.#ttlSeconds = ttlSeconds;
    this.#shuffle = new Shuffle(random);
    this.#targets = new SrvTargets(index, ttlSeconds);
  }

  /**
   * Writes the records of a type of all services that a wildcard matches, as if they were one service. `question` reads
   * the part of each that `name` asks for. May allocate. False when there are none.
   */
  answerAll(
    matches: readonly ZoneService[],
    name: ZoneName,
    question: ServiceQuestion,
    type: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const before = writer.answerCount();
    this.#isOfSeveral = true;
    this.#seen.clear();
    this.#targets.clear();
    this.#srvCount = 0;
    const drawn = this.#shuffle.start(matches.length);
    const services = Array.from({ length: drawn }, () => matches[this.#shuffle.next()]!);
    for (const { number } of type === TYPE.SRV || type === TYPE.ANY ? services : []) {
      question.read(number, name);
      this.#records.collectTargets(question);
      this.#srvCount += this.#records.count;
      // More records than the total weight: each has weight 0.
      if (this.#srvCount > SRV_TOTAL_WEIGHT) break;
    }
    for (const { number } of services) {
      question.read(number, name);
      this.answer(question, type, owner, writer);
      // One RRset is enough for ANY.
      if (writer.isFull || (type === TYPE.ANY && writer.answerCount() > before)) break;
    }
    this.#isOfSeveral = false;
    if (type === TYPE.SRV && services.length <= MAX_SERVICES_WITH_TARGETS)
      this.#targets.addAddresses(writer);
    return writer.answerCount() > before;
  }

  /** Writes the records of a type of one service. False when there are none: NODATA. */
  answer(
    question: ServiceQuestion,
    type: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    switch (type) {
      case TYPE.A:
        return this.#answerAddresses(question, IPV4_BYTES, owner, writer);
      case TYPE.AAAA:
        return this.#answerAddresses(question, IPV6_BYTES, owner, writer);
      case TYPE.SRV:
        return this.#answerTargets(question, owner, writer);
      case TYPE.ANY:
        // One RRset is enough (RFC 8482 section 4.1).
        return (
          this.#answerAddresses(question, IPV4_BYTES, owner, writer) ||
          this.#answerAddresses(question, IPV6_BYTES, owner, writer) ||
          this.#answerTargets(question, owner, writer)
        );
      default:
        return false;
    }
  }

  #answerAddresses(
    question: ServiceQuestion,
    size: AddressSize,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const { part } = question;
    if (question.isSingle && part === 'service') {
      if (size !== IPV4_BYTES) return false;
      this.#index.copyAddress(question.number, this.#address);
      return writer.add(SECTION.ANSWER, owner, TYPE.A, this.#ttlSeconds, this.#address);
    }
    if (part !== 'service' && part !== 'host' && part !== 'zonal') return false;
    const before = writer.answerCount();
    if (question.usesSlices) this.#addEndpoints(question, size, owner, writer);
    else if (part !== 'host') {
      const addresses =
        part === 'service' ? question.service.addresses(size) : question.endpoints.addresses(size);
      this.#addAddresses(addresses, undefined, 0, countOf(addresses), owner, writer);
    } else {
      const set = question.service.endpoints;
      for (let i = 0; i < question.hostCount; i++) {
        const host = question.hostNumbers[i]!;
        const start = set.startOf(host, size);
        const count = set.endOf(host, size) - start;
        this.#addAddresses(set.addresses(size), set.numbers, start, count, owner, writer);
      }
    }
    return writer.answerCount() > before;
  }

  /** Adds addresses by their indexes from `first` on, or by those that are there in `numbers`. */
  #addAddresses(
    addresses: PackedAddresses,
    numbers: Int32Array | undefined,
    first: number,
    count: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    const { size, bytes } = addresses;
    const shuffle = this.#shuffle;
    const ttl = this.#ttlSeconds;
    // Several services may have an address.
    const mayRepeat = this.#isOfSeveral;
    for (let left = shuffle.start(count); left > 0; left--) {
      const number = first + shuffle.next();
      const at = (numbers === undefined ? number : numbers[number]!) * size;
      if (mayRepeat && !this.#seen.add(bytes, at, size, 0)) continue;
      if (!addAddress(writer, SECTION.ANSWER, owner, addresses, at, ttl)) return;
    }
  }

  /** Adds addresses out of the slices, of which an endpoint may be in two. */
  #addEndpoints(
    question: ServiceQuestion,
    size: AddressSize,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    const records = this.#records;
    records.collectEndpoints(question, size);
    if (!this.#isOfSeveral) this.#seen.clear();
    for (let left = this.#shuffle.start(records.count); left > 0; left--) {
      const { hosts, index } = records.locate(this.#shuffle.next());
      const group = hosts as EndpointGroup;
      const at = index * size;
      if (!this.#seen.add(group.bytes, at, size, 0)) continue;
      if (!addAddress(writer, SECTION.ANSWER, owner, group, at, this.#ttlSeconds)) return;
    }
  }

  /** Writes the SRV records, and the addresses of their targets. */
  #answerTargets(
    question: ServiceQuestion,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const { part, number } = question;
    if (part === 'protocol' || part === 'zonal-empty') return false;
    const before = writer.answerCount();
    const isSingle = question.isSingle && (part === 'service' || part === 'port');
    const records = this.#records;
    const srv = this.#srv;
    records.collectTargets(question);
    const count = this.#isOfSeveral ? this.#srvCount : records.count;
    const weight = Math.floor(SRV_TOTAL_WEIGHT / count);
    if (!this.#isOfSeveral) this.#targets.clear();
    this.#targets.start();
    this.#seen.clear();
    let length = 0;
    for (let left = this.#shuffle.start(records.count); left > 0; left--) {
      const { hosts, index, port } = records.locate(this.#shuffle.next());
      // A service that is not headless is the target of all of its records.
      if (hosts === undefined) length ||= this.#index.writeName(number, srv, SRV_TARGET_OFFSET);
      else {
        length = this.#index.writeHostName(number, hosts, index, srv, SRV_TARGET_OFFSET);
        if (length === 0 || (question.usesSlices && !this.#isNew(hosts, index, port))) continue;
      }
      writeUint16(srv, 0, SRV_PRIORITY);
      writeUint16(srv, 2, weight);
      writeUint16(srv, 4, port);
      const ttl = this.#ttlSeconds;
      if (!writer.add(SECTION.ANSWER, owner, TYPE.SRV, ttl, srv, SRV_TARGET_OFFSET + length)) break;
      if (!isSingle) this.#targets.add(question.service, hosts, index);
    }
    if (writer.answerCount() === before) return false;
    if (isSingle) this.#addAddressOf(question, owner, writer);
    // Records of another service may follow in the answer section.
    else if (!this.#isOfSeveral) this.#targets.addAddresses(writer);
    return true;
  }

  /** Adds the address of a single service, whose name is the end of the question's, or of the owner's. */
  #addAddressOf(
    { number, nameAt }: ServiceQuestion,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    const address = this.#address;
    const ttl = this.#ttlSeconds;
    this.#index.copyAddress(number, address);
    if (owner === undefined) writer.addAbove(SECTION.ADDITIONAL, nameAt, TYPE.A, ttl, address);
    else writer.add(SECTION.ADDITIONAL, owner.subarray(nameAt), TYPE.A, ttl, address);
  }

  /** Whether the answer does not have this target of a slice with this port yet: an endpoint may be in two slices. */
  #isNew(hosts: Hosts, host: number, port: number): boolean {
    const label = hosts.labels?.[host] ?? '';
    if (label !== '' || hosts instanceof EndpointSet) {
      return this.#seen.add(label, 0, label.length, port);
    }
    return this.#seen.add(hosts.bytes, host * hosts.size, hosts.size, port);
  }
}

/** A run of records that are next to each other: endpoints, or hosts with each of the same ports. */
class Run {
  /** The hosts; undefined for the service itself. */
  hosts: Hosts | undefined;
  first = 0;
  /** Each host has `portCount` ports of the list, from `firstPort` on. */
  ports: PortList = NO_PORTS;
  firstPort = 0;
  portCount = 1;
  hasNamedPorts = false;
  /** The number of the first record. */
  start = 0;
  /** Of the record that was located last: the index of its host or address, and its port. */
  index = 0;
  port = NO_PORT;
}

/**
 * The records of an RRset by number. Only runs of them are stored, so a thousand endpoints with ten thousand ports
 * cost what one of each does. Reused for every question.
 */
class NumberedRecords {
  /** The number of records. */
  count = 0;
  readonly #runs: Run[] = [];
  #runCount = 0;

  /** Collects the endpoints of one family in the slices of a service, or those of them that a question asks for. */
  collectEndpoints(question: ServiceQuestion, size: AddressSize): void {
    this.#clear();
    if (question.part === 'host') {
      for (let i = 0; i < question.hostCount; i++) {
        const group = question.hosts[i] as EndpointGroup;
        if (group.size === size) this.#addRun(group, question.hostNumbers[i]!, 1, NO_PORTS);
      }
      return;
    }
    for (const { groups } of question.service.slices) {
      for (const group of groups) {
        if (group.size === size && question.takes(group)) {
          this.#addRun(group, 0, countOf(group), NO_PORTS);
        }
      }
    }
  }

  /** Collects the targets of an SRV question with their ports. */
  collectTargets(question: ServiceQuestion): void {
    this.#clear();
    const { part } = question;
    if (part === 'host' || part === 'host-port') {
      for (let i = 0; i < question.targetCount; i++) {
        const hosts = question.hosts[i]!;
        const host = question.hostNumbers[i]!;
        this.#addHosts(question, hosts, host, 1, portsOf(hosts, host));
      }
    } else if (question.isSingle || !question.service.isHeadless) {
      this.#addHosts(question, undefined, 0, 1, question.ports);
    } else if (question.usesSlices) {
      for (const { groups } of question.service.slices) {
        for (const group of groups) {
          if (question.takes(group))
            this.#addHosts(question, group, 0, countOf(group), group.ports);
        }
      }
    } else {
      const { endpoints } = question;
      for (let host = 0, first = 0; host < endpoints.hostCount; first = host) {
        const ports = endpoints.portsOf(first);
        do host++;
        while (host < endpoints.hostCount && endpoints.portsOf(host) === ports);
        this.#addHosts(question, endpoints, first, host - first, ports);
      }
    }
  }

  /** Finds a record by its number. */
  locate(number: number): Run {
    const run = this.#runs[this.#runCount === 1 ? 0 : this.#runOf(number)]!;
    const rest = number - run.start;
    const { portCount, ports } = run;
    const host = portCount === 1 ? rest : Math.floor(rest / portCount);
    run.index = run.first + host;
    if (ports === NO_PORTS) return run;
    const port = run.firstPort + rest - host * portCount;
    run.port = run.hasNamedPorts ? ports.ports[port]!.port : ports.numbers[port]!;
    return run;
  }

  #runOf(number: number): number {
    const runs = this.#runs;
    let at = 0;
    for (let end = this.#runCount - 1; at < end;) {
      const middle = (at + end + 1) >>> 1;
      if (runs[middle]!.start <= number) at = middle;
      else end = middle - 1;
    }
    return at;
  }

  #clear(): void {
    this.count = 0;
    this.#runCount = 0;
  }

  /** Adds consecutive hosts that have the same ports, as far as the question asks for these. */
  #addHosts(
    question: ServiceQuestion,
    hosts: Hosts | undefined,
    first: number,
    count: number,
    ports: PortList,
  ): void {
    if (question.hasPort && !question.findPorts(ports)) return;
    // A question without a port: every number once, port 0 only when there are no ports.
    const portCount = question.hasPort ? question.portCount : Math.max(1, ports.numbers.length);
    const run = this.#addRun(hosts, first, count * portCount, ports);
    run.firstPort = question.hasPort ? question.firstPort : 0;
    run.portCount = portCount;
    run.hasNamedPorts = question.hasPort;
  }

  #addRun(hosts: Hosts | undefined, first: number, records: number, ports: PortList): Run {
    const run = (this.#runs[this.#runCount++] ??= new Run());
    run.hosts = hosts;
    run.first = first;
    run.ports = ports;
    run.firstPort = 0;
    run.portCount = 1;
    run.hasNamedPorts = false;
    run.port = NO_PORT;
    run.start = this.count;
    this.count += records;
    return run;
  }
}

/** The targets of the SRV records of an answer, each once. Reused for every question. */
class SrvTargets {
  readonly #index: ServiceIndex;
  readonly #ttlSeconds: number;
  #count = 0;
  readonly #services: ZoneService[] = [];
  readonly #hosts: (Hosts | undefined)[] = [];
  readonly #numbers: number[] = [];
  /** By host of the current service's set, after the service itself: the last `start` since which it was added. */
  readonly #starts = new Uint32Array(1 + MAX_SET_ENDPOINTS);
  #start = 0;
  readonly #name = new Uint8Array(HOST_NAME_BYTES);

  constructor(index: ServiceIndex, ttlSeconds: number) {
    this.#index = index;
    this.#ttlSeconds = ttlSeconds;
  }

  clear(): void {
    this.#count = 0;
  }

  /** Starts with the targets of another service. */
  start(): void {
    this.#start = (this.#start + 1) >>> 0;
  }

  /** Adds a host of the current service, or the service itself where `hosts` is undefined. */
  add(service: ZoneService, hosts: Hosts | undefined, host: number): void {
    if (hosts === undefined || hosts instanceof EndpointSet) {
      const at = hosts === undefined ? 0 : host + 1;
      if (this.#starts[at] === this.#start) return;
      this.#starts[at] = this.#start;
    }
    this.#services[this.#count] = service;
    this.#hosts[this.#count] = hosts;
    this.#numbers[this.#count++] = host;
  }

  /** Adds the addresses of the targets to the additional section, as far as they fit. */
  addAddresses(writer: AnswerWriter): void {
    for (let i = 0; i < this.#count && !writer.isFull; i++) {
      const service = this.#services[i]!;
      const hosts = this.#hosts[i];
      const host = this.#numbers[i]!;
      if (hosts === undefined) {
        this.#index.writeName(service.number, this.#name, 0);
        for (const size of FAMILIES) {
          const addresses = service.addresses(size);
          this.#add(addresses, undefined, 0, countOf(addresses), writer);
        }
        continue;
      }
      this.#index.writeHostName(service.number, hosts, host, this.#name, 0);
      if (hosts instanceof EndpointSet) this.#addHost(hosts, host, writer);
      // A generated label has one address; a hostname may have others in other slices.
      else if ((hosts.labels?.[host] ?? '') === '') {
        this.#add(hosts, undefined, host, host + 1, writer);
      } else if (!service.isLarge) {
        this.#addHost(service.endpoints, service.endpoints.find(this.#name, 0), writer);
      }
    }
  }

  #addHost(set: EndpointSet, host: number, writer: AnswerWriter): void {
    for (const size of FAMILIES) {
      const start = set.startOf(host, size);
      this.#add(set.addresses(size), set.numbers, start, set.endOf(host, size), writer);
    }
  }

  /** Adds addresses by their indexes, or by where these are in `numbers`. */
  #add(
    addresses: PackedAddresses,
    numbers: Int32Array | undefined,
    first: number,
    end: number,
    writer: AnswerWriter,
  ): void {
    for (let i = first; i < end && !writer.isFull; i++) {
      const at = (numbers === undefined ? i : numbers[i]!) * addresses.size;
      addAddress(writer, SECTION.ADDITIONAL, this.#name, addresses, at, this.#ttlSeconds);
    }
  }
}

const SLOTS = 2 * MAX_DRAWS;
const MASK = SLOTS - 1;

/**
 * The records that an answer has so far, as 64 bits of hash each: seeded, so no client can choose two that are
 * taken for one, and by chance that happens once in a million million answers. It allocates nothing.
 */
class SeenRecords {
  readonly #seed = randomSeed();
  /** By slot of a hash table: both halves of the hash, and the answer that they are of. */
  readonly #left = new Int32Array(SLOTS);
  readonly #right = new Int32Array(SLOTS);
  readonly #answers = new Uint32Array(SLOTS);
  #answer = 1;
  #count = 0;

  clear(): void {
    this.#answer = (this.#answer + 1) >>> 0;
    this.#count = 0;
  }

  /** Adds the characters from `at` on, with a number; false when they were added before. */
  add(text: string, at: number, length: number, number: number): boolean {
    let left = hashByte(this.#seed, number) | 0;
    let right = (FNV_OFFSET ^ Math.imul(this.#seed, number + 1)) | 0;
    for (let i = at; i < at + length; i++) {
      const character = text.charCodeAt(i);
      left = hashByte(left, character) | 0;
      right = (Math.imul(right ^ character, 0x9e37_79b1) ^ (right >>> 15)) | 0;
    }
    let slot = (left ^ (left >>> 15)) & MASK;
    for (; this.#answers[slot] === this.#answer; slot = (slot + 1) & MASK) {
      if (this.#left[slot] === left && this.#right[slot] === right) return false;
    }
    // No message has space for so many; what is not stored may be added twice.
    if (this.#count === MAX_DRAWS) return true;
    this.#count++;
    this.#left[slot] = left;
    this.#right[slot] = right;
    this.#answers[slot] = this.#answer;
    return true;
  }
}

/** Adds the A or AAAA record of the address at an offset; false when it did not fit. */
export function addAddress(
  writer: AnswerWriter,
  section: Section,
  owner: Uint8Array | undefined,
  { size, bytes }: PackedAddresses,
  at: number,
  ttlSeconds: number,
): boolean {
  for (let i = 0; i < size; i++) addressRdata[i] = bytes.charCodeAt(at + i);
  return writer.add(section, owner, addressType(size), ttlSeconds, addressRdata, size);
}
