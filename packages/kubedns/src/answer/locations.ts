import { NO_PORTS, type PortList } from '../cluster/ports.js';
import { type ServiceQuestion, WHOLE_SERVICE } from './service-question.js';

const FIRST_CAPACITY = 64;
/** The port in the SRV record of a service without ports, as in kubernetes/dns. */
const NO_PORT = 0;

/** The targets of an SRV RRset: hosts of a service with their ports. Reused for every question. */
export class Locations {
  count = 0;
  #hosts = new Int32Array(FIRST_CAPACITY);
  #ports = new Uint16Array(FIRST_CAPACITY);

  hostAt(i: number): number {
    return this.#hosts[i]!;
  }

  portAt(i: number): number {
    return this.#ports[i]!;
  }

  /** Collects the locations for a question. */
  collect(question: ServiceQuestion): void {
    const { service, part, host } = question;
    this.count = 0;
    const isOfPort = part === 'port' || part === 'host-port';
    if (part === 'host' || part === 'host-port') {
      this.#collectHost(question, host, service.view.portsOf(host), isOfPort);
    } else if (!service.isHeadless) {
      this.#collectHost(question, WHOLE_SERVICE, service.service?.ports ?? NO_PORTS, isOfPort);
    } else {
      const { view } = service;
      for (let each = 0; each < view.hostCount; each++) {
        this.#collectHost(question, each, view.portsOf(each), isOfPort);
      }
    }
  }

  #collectHost(question: ServiceQuestion, host: number, list: PortList, isOfPort: boolean): void {
    if (!isOfPort) {
      // A question without a port: every number once, port 0 only when there are no ports.
      if (list.numbers.length === 0) this.#add(host, NO_PORT);
      for (const port of list.numbers) this.#add(host, port);
      return;
    }
    const first = this.count;
    for (const { name, protocol, port } of list.ports) {
      if (question.isPort(name, protocol) && !this.#has(first, port)) this.#add(host, port);
    }
  }

  /** Whether the locations from `first` on, those of one host, have the port already. */
  #has(first: number, port: number): boolean {
    for (let i = first; i < this.count; i++) {
      if (this.#ports[i] === port) return true;
    }
    return false;
  }

  #add(host: number, port: number): void {
    if (this.count === this.#hosts.length) this.#grow();
    this.#hosts[this.count] = host;
    this.#ports[this.count++] = port;
  }

  #grow(): void {
    const hosts = new Int32Array(this.count * 2);
    const ports = new Uint16Array(this.count * 2);
    hosts.set(this.#hosts);
    ports.set(this.#ports);
    this.#hosts = hosts;
    this.#ports = ports;
  }
}
