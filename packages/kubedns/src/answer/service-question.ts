import type { PortList } from '../cluster/ports.js';
import { readHashLabel } from '../zone/endpoint-name.js';
import { isServiceLabel, type ZoneName } from '../zone/zone-name.js';
import type { ZoneService } from '../zone/zone-service.js';

/** The part of a service that a name asks for; `absent` when the name does not exist. */
export type Part = 'service' | 'host' | 'protocol' | 'port' | 'host-port' | 'absent';

/** The service itself in place of a host number. */
export const WHOLE_SERVICE = -1;
/** Labels of a service's name before the apex: itself, its namespace, `svc`. */
export const SERVICE_LABELS = 3;
const ANY_PORT = -1;

/** The part of one service in a question: itself, a host, or a port. Reused for every question. */
export class ServiceQuestion {
  service!: ZoneService;
  part: Part = 'absent';
  /** The host of `host` and `host-port`. */
  host = WHOLE_SERVICE;
  /** The hash in the host's label, which other hosts of the service may share; else -1. */
  hash = -1;
  #name!: Uint8Array;
  /** Offsets of the labels of port and protocol. */
  #portAt = ANY_PORT;
  #protocolAt = 0;

  /** Reads the labels before those of an existing service. */
  read(service: ZoneService, name: ZoneName): void {
    this.service = service;
    this.#name = name.bytes;
    this.host = WHOLE_SERVICE;
    this.part = this.#partOf(name);
  }

  /** Whether a port matches the question; an unnamed port never does. */
  isPort(name: string, protocol: string): boolean {
    if (name === '' || !isServiceLabel(protocol, this.#name, this.#protocolAt)) return false;
    return this.#portAt === ANY_PORT || isServiceLabel(name, this.#name, this.#portAt);
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
          this.#isServed(this.service.view.portsOf(this.host))
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
    if (!this.service.mayHaveHost(this.#name, at)) return false;
    const { view } = this.service;
    this.hash = readHashLabel(this.#name, at);
    this.host = view.hostOfLabel(this.#name, at);
    if (this.host < 0 && this.hash >= 0) this.host = view.hostOfHash(this.hash, 0);
    else this.hash = -1;
    return this.host >= 0;
  }

  /** Whether the service, or any endpoint of a headless one, has the port. */
  #someServe(): boolean {
    const { service } = this;
    if (!service.isHeadless) return this.#isServed(service.service!.ports);
    for (const { groups } of service.slices) {
      for (const { ports } of groups) {
        if (this.#isServed(ports)) return true;
      }
    }
    return false;
  }

  #isServed({ ports }: PortList): boolean {
    for (const { name, protocol } of ports) {
      if (this.isPort(name, protocol)) return true;
    }
    return false;
  }
}
