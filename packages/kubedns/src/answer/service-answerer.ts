import {
  type AnswerWriter,
  MAX_NAME_BYTES,
  SECTION,
  type Section,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import {
  type AddressSize,
  IPV4_BYTES,
  IPV6_BYTES,
  type PackedAddresses,
} from '../cluster/packed-addresses.js';
import { addressType } from '../zone/address.js';
import type { EndpointView } from '../zone/endpoint-view.js';
import type { ZoneService } from '../zone/zone-service.js';
import { MAX_LABEL_BYTES, writeHostName } from './host-name.js';
import { Locations } from './locations.js';
import { type ServiceQuestion, WHOLE_SERVICE } from './service-question.js';
import type { Shuffle } from './shuffle.js';
import { WrittenTargets } from './written-targets.js';
import type { ZoneQuestion } from './zone-question.js';

export interface ServiceAnswererOptions {
  readonly ttlSeconds: number;
  readonly shuffle: Shuffle;
}

/** Priority of every SRV record, and the total weight of an RRset (skydns server/server.go). */
const SRV_PRIORITY = 10;
const SRV_TOTAL_WEIGHT = 100;
const SRV_TARGET_OFFSET = 6;
const MAX_ADDRESS_BYTES = 16;

/** Writes the records of services. Answers about one service allocate nothing. */
export class ServiceAnswerer {
  readonly #ttlSeconds: number;
  readonly #shuffle: Shuffle;
  readonly #locations = new Locations();
  readonly #address = new Uint8Array(MAX_ADDRESS_BYTES);
  readonly #srv = new Uint8Array(SRV_TARGET_OFFSET + MAX_LABEL_BYTES + MAX_NAME_BYTES);
  readonly #host = new Uint8Array(MAX_LABEL_BYTES + MAX_NAME_BYTES);
  readonly #written = new WrittenTargets();
  /** For an answer about several services: its addresses so far, and its number of SRV locations. */
  #seen: Set<string> | undefined;
  #locationCount = 0;

  constructor({ ttlSeconds, shuffle }: ServiceAnswererOptions) {
    this.#ttlSeconds = ttlSeconds;
    this.#shuffle = shuffle;
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
    this.#seen = new Set();
    this.#locationCount = 0;
    const order = Array.from(this.#shuffle.order(matches.length).subarray(0, matches.length));
    const services = order.map((i) => matches[i]!);
    for (const service of type === TYPE.SRV || type === TYPE.ANY ? services : []) {
      question.read(service, name);
      this.#locations.collect(question);
      this.#locationCount += this.#locations.count;
      // More locations than the total weight: each has weight 0.
      if (this.#locationCount > SRV_TOTAL_WEIGHT) break;
    }
    for (const service of services) {
      question.read(service, name);
      this.answer(question, type, owner, writer);
      // One RRset is enough for ANY.
      if (writer.isFull || (type === TYPE.ANY && writer.answerCount() > before)) break;
    }
    this.#seen = undefined;
    for (const service of type === TYPE.SRV && !writer.isFull ? services : []) {
      question.read(service, name);
      this.#locations.collect(question);
      if (!this.#addTargets(service, this.#locations.count, undefined, writer)) break;
    }
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
    const { service, part } = question;
    const before = writer.answerCount();
    if (part === 'service' && this.#seen !== undefined && service.isHeadless) {
      this.#addGroups(service, type === TYPE.A ? IPV4_BYTES : IPV6_BYTES, owner, writer);
    } else if (part === 'service') {
      this.#addAddresses(type === TYPE.A ? service.ipv4 : service.ipv6, owner, writer);
    } else if (part === 'host') {
      const { view } = service;
      const size = type === TYPE.A ? IPV4_BYTES : IPV6_BYTES;
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
    if (question.part === 'protocol') return false;
    const { service } = question;
    const before = writer.answerCount();
    const locations = this.#locations;
    locations.collect(question);
    const { count } = locations;
    const order = this.#shuffle.order(count);
    const isOfSeveral = this.#seen !== undefined;
    const weight = Math.floor(SRV_TOTAL_WEIGHT / (isOfSeveral ? this.#locationCount : count));
    let written = 0;
    for (; written < count; written++) {
      const i = order[written]!;
      const length = this.#writeSrv(service, locations.hostAt(i), locations.portAt(i), weight);
      if (length === 0) continue;
      const srv = this.#srv;
      if (!writer.add(SECTION.ANSWER, owner, TYPE.SRV, this.#ttlSeconds, srv, length)) return true;
    }
    const isAnswered = writer.answerCount() > before;
    // Records of another service may follow in the answer section.
    if (isOfSeveral || !isAnswered) return isAnswered;
    this.#addTargets(service, written, order, writer);
    return true;
  }

  /** Adds the addresses of the first targets of an order; false when the message is full. */
  #addTargets(
    service: ZoneService,
    count: number,
    order: Uint32Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    this.#written.start(service.isHeadless ? service.view.hostCount : 0);
    for (let i = 0; i < count; i++) {
      const host = this.#locations.hostAt(order === undefined ? i : order[i]!);
      if (!this.#addTarget(service, host, writer)) return false;
    }
    return true;
  }

  /** Writes the rdata of one SRV record; returns its length, 0 when the target's name is too long. */
  #writeSrv(service: ZoneService, host: number, port: number, weight: number): number {
    const srv = this.#srv;
    writeUint16(srv, 0, SRV_PRIORITY);
    writeUint16(srv, 2, weight);
    writeUint16(srv, 4, port);
    const length = writeHostName(service, host, srv, SRV_TARGET_OFFSET);
    return length === 0 ? 0 : SRV_TARGET_OFFSET + length;
  }

  /** Adds the addresses of an SRV target once per answer; false when the message is full. */
  #addTarget(service: ZoneService, host: number, writer: AnswerWriter): boolean {
    if (this.#written.add(host)) return true;
    if (writeHostName(service, host, this.#host, 0) === 0) return true;
    if (host === WHOLE_SERVICE) {
      return this.#addInOrder(service.ipv4, writer) && this.#addInOrder(service.ipv6, writer);
    }
    return (
      this.#addHostInOrder(service.view, host, IPV4_BYTES, writer) &&
      this.#addHostInOrder(service.view, host, IPV6_BYTES, writer)
    );
  }

  /** Adds the addresses of a family in random order. */
  #addAddresses(
    { size, bytes }: PackedAddresses,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    const count = bytes.length / size;
    const order = this.#shuffle.order(count);
    for (let i = 0; i < count; i++) {
      if (!this.#add(SECTION.ANSWER, owner, bytes, order[i]! * size, size, writer)) return;
    }
  }

  /** Adds the addresses of one of several services without the cost of a view. */
  #addGroups(
    { slices }: ZoneService,
    size: AddressSize,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    for (const { groups } of slices) {
      for (const group of groups) {
        if (group.size === size) this.#addAddresses(group, owner, writer);
        if (writer.isFull) return;
      }
    }
  }

  #addInOrder({ size, bytes }: PackedAddresses, writer: AnswerWriter): boolean {
    for (let at = 0; at < bytes.length; at += size) {
      if (!this.#add(SECTION.ADDITIONAL, this.#host, bytes, at, size, writer)) return false;
    }
    return true;
  }

  /** Adds the addresses of a host and a family in random order. */
  #addHost(
    view: EndpointView,
    host: number,
    size: AddressSize,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    const { bytes } = view.addresses(size);
    const count = view.countOf(host, size);
    const order = this.#shuffle.order(count);
    for (let i = 0; i < count; i++) {
      const at = view.offsetOf(host, size, order[i]!);
      if (!this.#add(SECTION.ANSWER, owner, bytes, at, size, writer)) return;
    }
  }

  #addHostInOrder(
    view: EndpointView,
    host: number,
    size: AddressSize,
    writer: AnswerWriter,
  ): boolean {
    const { bytes } = view.addresses(size);
    const count = view.countOf(host, size);
    for (let i = 0; i < count; i++) {
      const at = view.offsetOf(host, size, i);
      if (!this.#add(SECTION.ADDITIONAL, this.#host, bytes, at, size, writer)) return false;
    }
    return true;
  }

  #add(
    section: Section,
    owner: Uint8Array | undefined,
    bytes: string,
    at: number,
    size: number,
    writer: AnswerWriter,
  ): boolean {
    if (this.#seen !== undefined && section === SECTION.ANSWER) {
      const text = bytes.slice(at, at + size);
      if (this.#seen.has(text)) return true;
      this.#seen.add(text);
    }
    const address = this.#address;
    for (let i = 0; i < size; i++) address[i] = bytes.charCodeAt(at + i);
    return writer.add(section, owner, addressType(size), this.#ttlSeconds, address, size);
  }
}
