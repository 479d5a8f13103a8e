import {
  type AddressSize,
  countOf,
  type EndpointGroup,
  NO_PORTS,
  type PortList,
} from '../watch/projections.js';
import { type ServiceQuestion, WHOLE_SERVICE } from './service-question.js';

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
