import { type AnswerWriter, MAX_NAME_BYTES, SECTION, TYPE } from '@kube-dns/wire';
import {
  type AddressSize,
  countOf,
  type EndpointGroup,
  IPV4_BYTES,
  IPV6_BYTES,
  type PackedAddresses,
} from '../watch/projections.js';
import type { EndpointView } from '../zone/endpoint-view.js';
import type { ServiceIndex } from '../zone/service-index.js';
import type { ZoneService } from '../zone/zone-service.js';
import { addAddress } from './address-record.js';
import { MAX_LABEL_BYTES, writeHostName } from './host-name.js';
import { Locations } from './locations.js';
import { SeenRecords } from './seen-records.js';
import type { ServiceQuestion } from './service-question.js';
import type { Shuffle } from './shuffle.js';
import { SingleServiceAnswerer } from './single-service-answerer.js';
import { SRV_TARGET_OFFSET, SRV_TOTAL_WEIGHT, writeSrvHead } from './srv-record.js';
import { SrvTargets } from './srv-targets.js';
import type { ZoneQuestion } from './zone-question.js';

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
