import {
  type AnswerWriter,
  FNV_OFFSET,
  hashByte,
  MAX_NAME_BYTES,
  randomSeed,
  SECTION,
  type Section,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import type { EndpointGroup } from '../cluster/endpoint-slice.js';
import {
  type AddressSize,
  countOf,
  IPV4_BYTES,
  IPV6_BYTES,
  type PackedAddresses,
} from '../cluster/packed-addresses.js';
import { NO_PORTS, type PortList } from '../cluster/ports.js';
import type { ServiceIndex } from '../zone/service-index.js';
import {
  addressHash,
  addressType,
  writeHashLabel,
  MAX_LABEL_BYTES,
  writeTextLabel,
} from '../zone/zone-names.js';
import type { EndpointView, ZoneService } from '../zone/zone-service.js';
import { MAX_DRAWS, type Shuffle } from './shuffle.js';
import { type ServiceQuestion, WHOLE_SERVICE, type ZoneQuestion } from './zone-question.js';

export interface ServiceAnswererOptions {
  /** Of the services in the questions. */
  readonly index: ServiceIndex;
  readonly ttlSeconds: number;
  readonly shuffle: Shuffle;
}

/** Beyond this number of services an SRV answer has no addresses of targets: writing their names takes longest. */
const MAX_SERVICES_WITH_TARGETS = 16;

/**
 * Writes the records of services, in random order, until the message is full. Answers about one service that
 * is not large allocate nothing.
 */
export class ServiceAnswerer {
  readonly #index: ServiceIndex;
  readonly #ttlSeconds: number;
  readonly #shuffle: Shuffle;
  readonly #locations = new Locations();
  readonly #srv = new Uint8Array(SRV_TARGET_OFFSET + MAX_LABEL_BYTES + MAX_NAME_BYTES);
  readonly #targets: SrvTargets;
  readonly #single: SingleServiceAnswerer;
  /** The addresses, or the targets with their ports, that an answer from slices has so far. */
  readonly #seen = new SeenRecords();
  /** For an answer about several services: its number of SRV locations. */
  #locationCount = 0;
  #isOfSeveral = false;

  constructor(options: ServiceAnswererOptions) {
    const { index, ttlSeconds, shuffle } = options;
    this.#index = index;
    this.#single = new SingleServiceAnswerer(options);
    this.#ttlSeconds = ttlSeconds;
    this.#shuffle = shuffle;
    this.#targets = new SrvTargets(index, ttlSeconds);
  }

  /**
   * Writes the records of a type of all services of a wildcard, as if they were one service. May allocate.
   * False when there are none.
   */
  answerAll(
    { matches, name, service: question }: ZoneQuestion,
    type: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const before = writer.answerCount();
    this.#isOfSeveral = true;
    this.#seen.clear();
    this.#targets.clear();
    this.#locationCount = 0;
    const drawn = this.#shuffle.start(matches.length);
    const services = Array.from({ length: drawn }, () => matches[this.#shuffle.next()]!);
    for (const service of type === TYPE.SRV || type === TYPE.ANY ? services : []) {
      question.read(service.number, name);
      this.#locations.collect(question);
      this.#locationCount += this.#locations.count;
      // More locations than the total weight: each has weight 0.
      if (this.#locationCount > SRV_TOTAL_WEIGHT) break;
    }
    for (const service of services) {
      question.read(service.number, name);
      this.answer(question, type, owner, writer);
      // One RRset is enough for ANY.
      if (writer.isFull || (type === TYPE.ANY && writer.answerCount() > before)) break;
    }
    this.#isOfSeveral = false;
    if (type === TYPE.SRV && services.length <= MAX_SERVICES_WITH_TARGETS)
      this.#targets.addAddresses(writer);
    return writer.answerCount() > before;
  }

  /**
   * Writes the records of a type, owned by `owner`, or by the question's name where that is undefined.
   * False when there are none: NODATA.
   */
  answer(
    question: ServiceQuestion,
    type: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    switch (type) {
      case TYPE.A:
      case TYPE.AAAA:
        return this.#answerAddresses(question, type, owner, writer);
      case TYPE.SRV:
        return this.#answerLocations(question, owner, writer);
      case TYPE.ANY:
        // One RRset is enough (RFC 8482 section 4.1).
        return (
          this.#answerAddresses(question, TYPE.A, owner, writer) ||
          this.#answerAddresses(question, TYPE.AAAA, owner, writer) ||
          this.#answerLocations(question, owner, writer)
        );
      default:
        return false;
    }
  }

  #answerAddresses(
    question: ServiceQuestion,
    type: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const { part } = question;
    if (question.isSingle && part === 'service') {
      return type === TYPE.A && this.#single.answerAddress(question, owner, writer);
    }
    const { service } = question;
    const before = writer.answerCount();
    const size = type === TYPE.A ? IPV4_BYTES : IPV6_BYTES;
    if (part === 'service') {
      if (question.usesSlices) this.#addEndpoints(question, size, owner, writer);
      else this.#addAddresses(type === TYPE.A ? service.ipv4 : service.ipv6, owner, writer);
    } else if (part === 'host' && question.usesSlices) {
      this.#addEndpoints(question, size, owner, writer);
    } else if (part === 'host') {
      const { view } = service;
      for (let { host } = question; host >= 0;) {
        this.#addHost(view, host, size, owner, writer);
        host = question.hash < 0 ? -1 : view.hostOfHash(question.hash, host + 1);
      }
    }
    return writer.answerCount() > before;
  }

  #answerLocations(
    question: ServiceQuestion,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const { part } = question;
    if (part === 'protocol') return false;
    if (question.isSingle && (part === 'port' || part === 'service')) {
      return this.#single.answerLocations(question, owner, writer);
    }
    const before = writer.answerCount();
    const isOfSeveral = this.#isOfSeveral;
    if (!isOfSeveral) this.#targets.clear();
    this.#locations.collect(question);
    const total = isOfSeveral ? this.#locationCount : this.#locations.count;
    this.#addLocations(question, Math.floor(SRV_TOTAL_WEIGHT / total), owner, writer);
    const isAnswered = writer.answerCount() > before;
    // Records of another service may follow in the answer section.
    if (isAnswered && !isOfSeveral) this.#targets.addAddresses(writer);
    return isAnswered;
  }

  /** Adds the SRV records of one service. */
  #addLocations(
    question: ServiceQuestion,
    weight: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    const { service } = question;
    const locations = this.#locations;
    this.#seen.clear();
    this.#targets.start(question);
    for (let left = this.#shuffle.start(locations.count); left > 0; left--) {
      locations.locate(this.#shuffle.next(), question);
      const { group, host, port } = locations;
      const length = this.#writeSrv(service, group, host, port, weight);
      if (length === 0 || (group !== undefined && !this.#isNew(group, host, port))) continue;
      const srv = this.#srv;
      if (!writer.add(SECTION.ANSWER, owner, TYPE.SRV, this.#ttlSeconds, srv, length)) return;
      this.#targets.add(service, group, host);
    }
  }

  /** Whether the answer has this target and port not yet: an endpoint may be in two slices. */
  #isNew({ size, bytes, labels }: EndpointGroup, index: number, port: number): boolean {
    const label = labels?.[index] ?? '';
    if (label !== '') return this.#seen.add(label, 0, label.length, port);
    return this.#seen.add(bytes, index * size, size, port);
  }

  /** Writes the rdata of one SRV record; returns its length, 0 when the target's name is too long. */
  #writeSrv(
    service: ZoneService,
    group: EndpointGroup | undefined,
    host: number,
    port: number,
    weight: number,
  ): number {
    writeSrvHead(this.#srv, weight, port);
    const length = writeHostName(this.#index, service, group, host, this.#srv, SRV_TARGET_OFFSET);
    return length === 0 ? 0 : SRV_TARGET_OFFSET + length;
  }

  /** Adds the addresses of a family in random order. */
  #addAddresses(
    addresses: PackedAddresses,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    for (let left = this.#shuffle.start(countOf(addresses)); left > 0; left--) {
      if (!this.#add(owner, addresses, this.#shuffle.next() * addresses.size, writer)) return;
    }
  }

  /** Adds the addresses of a family in random order out of the slices: without the cost of a view. */
  #addEndpoints(
    question: ServiceQuestion,
    size: AddressSize,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    const locations = this.#locations;
    locations.collectAddresses(question, size);
    if (!this.#isOfSeveral) this.#seen.clear();
    for (let left = this.#shuffle.start(locations.count); left > 0; left--) {
      locations.locate(this.#shuffle.next(), question);
      const group = locations.group!;
      const at = locations.host * size;
      // An endpoint may be in two slices.
      if (!this.#isOfSeveral && !this.#seen.add(group.bytes, at, size, 0)) continue;
      if (!this.#add(owner, group, at, writer)) return;
    }
  }

  /** Adds the addresses of a host and a family in random order. */
  #addHost(
    view: EndpointView,
    host: number,
    size: AddressSize,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    const addresses = view.addresses(size);
    for (let left = this.#shuffle.start(view.countOf(host, size)); left > 0; left--) {
      const at = view.offsetOf(host, size, this.#shuffle.next());
      if (!this.#add(owner, addresses, at, writer)) return;
    }
  }

  /** Adds an address; one that several services have is added once. */
  #add(
    owner: Uint8Array | undefined,
    addresses: PackedAddresses,
    at: number,
    writer: AnswerWriter,
  ): boolean {
    const { size, bytes } = addresses;
    if (this.#isOfSeveral && !this.#seen.add(bytes, at, size, 0)) return true;
    return addAddress(writer, SECTION.ANSWER, owner, addresses, at, this.#ttlSeconds);
  }
}

/**
 * Writes the records of single services, which most are: a cluster address of IPv4 and no other. Their name and
 * address come out of the block of the index where they were found, and no object is read but their ports.
 */
export class SingleServiceAnswerer {
  readonly #ttlSeconds: number;
  readonly #shuffle: Shuffle;
  readonly #locations = new Locations();
  readonly #srv = new Uint8Array(SRV_TARGET_OFFSET + MAX_NAME_BYTES);
  readonly #address = new Uint8Array(IPV4_BYTES);

  constructor({ ttlSeconds, shuffle }: ServiceAnswererOptions) {
    this.#ttlSeconds = ttlSeconds;
    this.#shuffle = shuffle;
  }

  /** Writes the address; false when it did not fit. */
  answerAddress(
    question: ServiceQuestion,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    question.copyAddress(this.#address);
    return writer.add(SECTION.ANSWER, owner, TYPE.A, this.#ttlSeconds, this.#address);
  }

  /** Writes the SRV records of the service, or of the port that is asked for, and its address; false when none fits. */
  answerLocations(
    question: ServiceQuestion,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const before = writer.answerCount();
    const locations = this.#locations;
    locations.collect(question);
    const srv = this.#srv;
    const length = SRV_TARGET_OFFSET + question.writeName(srv, SRV_TARGET_OFFSET);
    const weight = Math.floor(SRV_TOTAL_WEIGHT / locations.count);
    for (let left = this.#shuffle.start(locations.count); left > 0; left--) {
      locations.locate(this.#shuffle.next(), question);
      writeSrvHead(srv, weight, locations.port);
      if (!writer.add(SECTION.ANSWER, owner, TYPE.SRV, this.#ttlSeconds, srv, length)) break;
    }
    if (writer.answerCount() === before) return false;
    this.#addTarget(question, owner, writer);
    return true;
  }

  /** Adds the address of the target, whose name is the end of the question's, or of the owner's. */
  #addTarget(question: ServiceQuestion, owner: Uint8Array | undefined, writer: AnswerWriter): void {
    const address = this.#address;
    question.copyAddress(address);
    const { nameAt } = question;
    if (owner === undefined) {
      writer.addAbove(SECTION.ADDITIONAL, nameAt, TYPE.A, this.#ttlSeconds, address);
    } else {
      const target = owner.subarray(nameAt);
      writer.add(SECTION.ADDITIONAL, target, TYPE.A, this.#ttlSeconds, address);
    }
  }
}

const FIRST_CAPACITY = 64;
/** The port in the SRV record of a service without ports, as in kubernetes/dns. */
const NO_PORT = 0;

/**
 * The records of an RRset by number: each of several hosts or endpoints with each of its ports. Only runs of
 * hosts with the same ports are stored, never a record, so a thousand endpoints with ten thousand ports
 * cost what one of each does. Reused for every question.
 */
export class Locations {
  /** The number of records. */
  count = 0;
  /** What `locate` found: a host of the service's view, or an endpoint of a group; and the port. */
  host = 0;
  group: EndpointGroup | undefined;
  port = 0;
  #runs = 0;
  readonly #groups: (EndpointGroup | undefined)[] = [];
  readonly #lists: PortList[] = [];
  #firstHosts = new Int32Array(FIRST_CAPACITY);
  #firstPorts = new Int32Array(FIRST_CAPACITY);
  #portCounts = new Int32Array(FIRST_CAPACITY);
  /** The number after the last record of each run. */
  #ends = new Float64Array(FIRST_CAPACITY);

  /** Collects the targets of an SRV question. */
  collect(question: ServiceQuestion): void {
    this.#clear();
    const { part, host, endpoints, usesSlices } = question;
    if (part === 'host' || part === 'host-port') {
      if (usesSlices) {
        for (const { group, index } of endpoints) {
          this.#addHosts(question, group.ports, index, 1, group);
        }
      } else this.#addHosts(question, question.service.view.portsOf(host), host, 1);
    } else if (question.isSingle || !question.service.isHeadless) {
      this.#addHosts(question, question.ports, WHOLE_SERVICE, 1);
    } else if (usesSlices) {
      for (const { groups } of question.service.slices) {
        for (const group of groups) {
          this.#addHosts(question, group.ports, 0, countOf(group), group);
        }
      }
    } else this.#collectView(question);
  }

  /** Collects the addresses of one family of a service, or of the host that a question asks for. */
  collectAddresses({ service, part, endpoints }: ServiceQuestion, size: AddressSize): void {
    this.#clear();
    if (part === 'host') {
      for (const { group, index } of endpoints) {
        if (group.size === size) this.#add(group, NO_PORTS, index, 1, 0, 1);
      }
      return;
    }
    for (const { groups } of service.slices) {
      for (const group of groups) {
        if (group.size === size) this.#add(group, NO_PORTS, 0, countOf(group), 0, 1);
      }
    }
  }

  /** Finds a record by its number. */
  locate(number: number, question: ServiceQuestion): void {
    let run = 0;
    for (let end = this.#runs - 1; run < end;) {
      const middle = (run + end) >>> 1;
      if (this.#ends[middle]! <= number) run = middle + 1;
      else end = middle;
    }
    const rest = number - (run === 0 ? 0 : this.#ends[run - 1]!);
    const ports = this.#portCounts[run]!;
    const list = this.#lists[run]!;
    const host = ports === 1 ? rest : Math.floor(rest / ports);
    this.group = this.#groups[run];
    this.host = this.#firstHosts[run]! + host;
    const at = this.#firstPorts[run]! + rest - host * ports;
    this.port = question.hasPort ? list.ports[at]!.port : (list.numbers[at] ?? NO_PORT);
  }

  #clear(): void {
    this.count = 0;
    this.#runs = 0;
  }

  #collectView(question: ServiceQuestion): void {
    const { view } = question.service;
    for (let host = 0, first = 0; host < view.hostCount; first = host) {
      const list = view.portsOf(first);
      do host++;
      while (host < view.hostCount && view.portsOf(host) === list);
      this.#addHosts(question, list, first, host - first);
    }
  }

  /** Adds consecutive hosts of the view, or endpoints of a group, that have the same ports. */
  #addHosts(
    question: ServiceQuestion,
    list: PortList,
    first: number,
    hosts: number,
    group?: EndpointGroup,
  ): void {
    if (!question.hasPort) {
      // A question without a port: every number once, port 0 only when there are no ports.
      this.#add(group, list, first, hosts, 0, Math.max(1, list.numbers.length));
    } else if (question.findPorts(list)) {
      const { range } = question;
      this.#add(group, list, first, hosts, range.first, range.count);
    }
  }

  #add(
    group: EndpointGroup | undefined,
    list: PortList,
    firstHost: number,
    hosts: number,
    firstPort: number,
    ports: number,
  ): void {
    const run = this.#runs++;
    if (run === this.#ends.length) this.#grow();
    this.#groups[run] = group;
    this.#lists[run] = list;
    this.#firstHosts[run] = firstHost;
    this.#firstPorts[run] = firstPort;
    this.#portCounts[run] = ports;
    this.count += hosts * ports;
    this.#ends[run] = this.count;
  }

  #grow(): void {
    this.#firstHosts = grown(this.#firstHosts, new Int32Array(this.#runs * 2));
    this.#firstPorts = grown(this.#firstPorts, new Int32Array(this.#runs * 2));
    this.#portCounts = grown(this.#portCounts, new Int32Array(this.#runs * 2));
    this.#ends = grown(this.#ends, new Float64Array(this.#runs * 2));
  }
}

function grown<T extends Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** The targets of the SRV records of an answer, each once. Reused for every question. */
export class SrvTargets {
  readonly #index: ServiceIndex;
  readonly #ttlSeconds: number;
  #count = 0;
  readonly #services: ZoneService[] = [];
  readonly #groups: (EndpointGroup | undefined)[] = [];
  #hosts = new Int32Array(FIRST_CAPACITY);
  /** By host of the current service, after the whole service: the last `start` since which it was added. */
  #starts = new Float64Array(FIRST_CAPACITY);
  #start = 0;
  readonly #name = new Uint8Array(MAX_LABEL_BYTES + MAX_NAME_BYTES);

  constructor(index: ServiceIndex, ttlSeconds: number) {
    this.#index = index;
    this.#ttlSeconds = ttlSeconds;
  }

  clear(): void {
    this.#count = 0;
  }

  /** Starts with the targets of another service. */
  start({ service, usesSlices }: ServiceQuestion): void {
    this.#start++;
    const hosts = service.isHeadless && !usesSlices ? service.view.hostCount : 0;
    const length = hosts - WHOLE_SERVICE;
    if (length > this.#starts.length) this.#starts = new Float64Array(length * 2);
  }

  /** Adds a host of the current service's view, an endpoint of a group, or WHOLE_SERVICE. */
  add(service: ZoneService, group: EndpointGroup | undefined, host: number): void {
    const at = host - WHOLE_SERVICE;
    if (group === undefined) {
      if (this.#starts[at] === this.#start) return;
      this.#starts[at] = this.#start;
    }
    if (this.#count === this.#hosts.length) {
      const hosts = new Int32Array(this.#count * 2);
      hosts.set(this.#hosts);
      this.#hosts = hosts;
    }
    this.#services[this.#count] = service;
    this.#groups[this.#count] = group;
    this.#hosts[this.#count++] = host;
  }

  /** Adds the addresses of the targets to the additional section, as far as they fit. */
  addAddresses(writer: AnswerWriter): void {
    for (let i = 0; i < this.#count && !writer.isFull; i++) {
      const service = this.#services[i]!;
      const group = this.#groups[i];
      const host = this.#hosts[i]!;
      writeHostName(this.#index, service, group, host, this.#name, 0);
      if (group !== undefined) {
        this.#addEndpoint(service, group, host, writer);
      } else if (host === WHOLE_SERVICE) {
        this.#addAll(service.ipv4, writer);
        this.#addAll(service.ipv6, writer);
      } else {
        this.#addHost(service, host, IPV4_BYTES, writer);
        this.#addHost(service, host, IPV6_BYTES, writer);
      }
    }
  }

  /** A generated label has one address; a hostname may have others in other slices. */
  #addEndpoint(
    service: ZoneService,
    group: EndpointGroup,
    index: number,
    writer: AnswerWriter,
  ): void {
    if ((group.labels?.[index] ?? '') === '') this.#add(group, index * group.size, writer);
    else if (!service.isLarge) {
      const host = service.view.hostOfLabel(this.#name, 0);
      this.#addHost(service, host, IPV4_BYTES, writer);
      this.#addHost(service, host, IPV6_BYTES, writer);
    }
  }

  #addAll(addresses: PackedAddresses, writer: AnswerWriter): void {
    const { size, bytes } = addresses;
    for (let at = 0; at < bytes.length && this.#add(addresses, at, writer);) at += size;
  }

  #addHost(
    { view }: ZoneService,
    host: number,
    size: PackedAddresses['size'],
    writer: AnswerWriter,
  ): void {
    const addresses = view.addresses(size);
    const count = view.countOf(host, size);
    for (let i = 0; i < count && !writer.isFull; i++) {
      this.#add(addresses, view.offsetOf(host, size, i), writer);
    }
  }

  #add(addresses: PackedAddresses, at: number, writer: AnswerWriter): boolean {
    return addAddress(writer, SECTION.ADDITIONAL, this.#name, addresses, at, this.#ttlSeconds);
  }
}

const SLOTS = 2 * MAX_DRAWS;
const MASK = SLOTS - 1;

/**
 * The records that an answer has so far, as 64 bits of hash each: seeded, so no client can choose two that are
 * taken for one, and by chance that happens once in a million million answers. It allocates nothing.
 */
export class SeenRecords {
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

/**
 * Writes the name of a host: of the service's view, or of a group, or of the service itself; returns its
 * length, 0 when it is too long.
 */
export function writeHostName(
  index: ServiceIndex,
  service: ZoneService,
  group: EndpointGroup | undefined,
  host: number,
  out: Uint8Array,
  at: number,
): number {
  let label = 0;
  if (group !== undefined) label = writeEndpointLabel(group, host, out, at);
  else if (host !== WHOLE_SERVICE) label = writeLabel(service.view, host, out, at);
  const { number } = service;
  if (label + index.nameBytesOf(number) > MAX_NAME_BYTES) return 0;
  return label + index.writeName(number, out, at + label);
}

function writeLabel(view: EndpointView, host: number, out: Uint8Array, at: number): number {
  const text = view.labelOf(host);
  return text === '' ? writeHashLabel(view.hashOf(host), out, at) : writeTextLabel(text, out, at);
}

function writeEndpointLabel(
  { size, bytes, labels }: EndpointGroup,
  index: number,
  out: Uint8Array,
  at: number,
): number {
  const text = labels?.[index] ?? '';
  if (text !== '') return writeTextLabel(text, out, at);
  return writeHashLabel(addressHash(bytes, index * size, size), out, at);
}

/** Priority of every SRV record, and the total weight of an RRset (skydns server/server.go). */
const SRV_PRIORITY = 10;
export const SRV_TOTAL_WEIGHT = 100;
/** Where the target begins in the rdata. */
export const SRV_TARGET_OFFSET = 6;

/** Writes the rdata of an SRV record up to its target. */
export function writeSrvHead(srv: Uint8Array, weight: number, port: number): void {
  writeUint16(srv, 0, SRV_PRIORITY);
  writeUint16(srv, 2, weight);
  writeUint16(srv, 4, port);
}

/** Scratch of `addAddress`, valid within one call: it must not allocate. */
const rdata = new Uint8Array(IPV6_BYTES);

/** Adds the A or AAAA record of the address at an offset; false when it did not fit. */
export function addAddress(
  writer: AnswerWriter,
  section: Section,
  owner: Uint8Array | undefined,
  { size, bytes }: PackedAddresses,
  at: number,
  ttlSeconds: number,
): boolean {
  for (let i = 0; i < size; i++) rdata[i] = bytes.charCodeAt(at + i);
  return writer.add(section, owner, addressType(size), ttlSeconds, rdata, size);
}
