import { type AnswerWriter, MAX_NAME_BYTES, SECTION } from '@kube-dns/wire';
import {
  type EndpointGroup,
  IPV4_BYTES,
  IPV6_BYTES,
  type PackedAddresses,
} from '../watch/projections.js';
import type { ServiceIndex } from '../zone/service-index.js';
import type { ZoneService } from '../zone/zone-service.js';
import { addAddress } from './address-record.js';
import { MAX_LABEL_BYTES, writeHostName } from './host-name.js';
import { type ServiceQuestion, WHOLE_SERVICE } from './service-question.js';

const FIRST_CAPACITY = 64;

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
