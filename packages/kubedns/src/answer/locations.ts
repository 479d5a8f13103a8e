import { NO_PORTS, type PortList } from '../cluster/ports.js';
import { type ServiceQuestion, WHOLE_SERVICE } from './service-question.js';

const FIRST_ROOM = 64;
/** SRV of a service without ports, as kubernetes/dns has it. */
const NO_PORT = 0;

/** What an SRV set points to: hosts of a service with their ports. Used again and again. */
export class Locations {
  count = 0;
  #hosts = new Int32Array(FIRST_ROOM);
  #ports = new Uint16Array(FIRST_ROOM);

  hostAt(i: number): number {
    return this.#hosts[i]!;
  }

  portAt(i: number): number {
    return this.#ports[i]!;
  }

  /** Collects the locations that a question is about. */
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
      // Asked without a port: every number once, port 0 only where there are no ports.
      if (list.numbers.length === 0) this.#add(host, NO_PORT);
      for (const port of list.numbers) this.#add(host, port);
      return;
    }
    const first = this.count;
    for (const { name, protocol, port } of list.ports) {
      if (question.isPort(name, protocol) && !this.#has(first, port)) this.#add(host, port);
    }
  }

  /** Whether the host whose locations begin at `first` has the port already. */
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
