import type { PortList } from '../watch/projections.js';
import { readHashLabel } from '../zone/endpoint-name.js';
import { NO_SERVICE, type ServiceIndex } from '../zone/service-index.js';
import type { ZoneName } from '../zone/zone-name.js';
import type { EndpointPlace, ZoneService } from '../zone/zone-service.js';
import { ANY_PORT, PortRange } from './port-range.js';

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
