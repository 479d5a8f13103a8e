import { invalidValue, type FieldError } from '../field-error.js';
import type { IpFamily, IpRange } from '../ip.js';
import { IpAllocator } from './ip-allocator.js';
import { NodePortAllocator } from './node-port-allocator.js';
import { hasClusterIps, isHeadless, usesNodePorts, type Service } from './service.js';

function addressesOf(service: Service | undefined): readonly string[] {
  if (!service || !hasClusterIps(service.spec) || isHeadless(service.spec)) return [];
  return service.spec.clusterIPs ?? [];
}

function nodePortsOf(service: Service | undefined): ReadonlySet<number> {
  const ports = service?.spec.ports ?? [];
  return new Set(ports.flatMap(({ nodePort }) => (nodePort === undefined ? [] : [nodePort])));
}

/**
 * Allocates cluster addresses and node ports of services. `admit` only chooses them; `commit`
 * allocates those of the stored service, so a refused write has no effect.
 */
export class ServiceAllocation {
  readonly #addresses: Readonly<Record<IpFamily, IpAllocator>>;
  readonly #nodePorts = new NodePortAllocator();

  constructor(ranges: Readonly<Record<IpFamily, IpRange>>) {
    this.#addresses = { IPv4: new IpAllocator(ranges.IPv4), IPv6: new IpAllocator(ranges.IPv6) };
  }

  /** The address of the service `kubernetes`. */
  get firstAddress(): string {
    return this.#addresses.IPv4.first;
  }

  /** Sets addresses and node ports of a valid service; returns why that is not possible. */
  admit(service: Service, previous: Service | undefined): FieldError[] {
    return [...this.#admitAddresses(service, previous), ...this.#admitNodePorts(service, previous)];
  }

  /** Allocates and releases what changes from one stored state of a service to the next. */
  commit(next: Service | undefined, previous: Service | undefined): void {
    const allocatorOf = (address: string) =>
      this.#addresses[address.includes(':') ? 'IPv6' : 'IPv4'];
    for (const address of addressesOf(previous)) allocatorOf(address).release(address);
    for (const address of addressesOf(next)) allocatorOf(address).take(address);
    for (const port of nodePortsOf(previous)) this.#nodePorts.release(port);
    for (const port of nodePortsOf(next)) this.#nodePorts.take(port);
  }

  #admitAddresses(service: Service, previous: Service | undefined): FieldError[] {
    const { spec } = service;
    if (!hasClusterIps(spec) || isHeadless(spec)) return [];
    const retained = addressesOf(previous);
    const errors: FieldError[] = [];
    const addresses = [...(spec.clusterIPs ?? [])];
    for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
      const allocator = this.#addresses[family];
      const given = addresses[i];
      if (given === undefined) {
        const address = allocator.propose();
        if (address) addresses[i] = address;
        else errors.push(refusal('', `range is full (${allocator.range.text})`));
      } else if (!retained.includes(given)) {
        const reason = allocator.refuse(given);
        if (reason) errors.push(refusal(given, reason));
      }
    }
    spec.clusterIPs = addresses;
    if (addresses[0] !== undefined) spec.clusterIP = addresses[0];
    return errors;
  }

  #admitNodePorts({ spec }: Service, previous: Service | undefined): FieldError[] {
    if (!usesNodePorts(spec)) return [];
    const retained = nodePortsOf(previous);
    const errors: FieldError[] = [];
    const chosen = new Set(
      (spec.ports ?? []).flatMap(({ nodePort }) => (nodePort === undefined ? [] : [nodePort])),
    );
    for (const [i, port] of (spec.ports ?? []).entries()) {
      const path = `spec.ports[${i}].nodePort`;
      if (port.nodePort === undefined) {
        const free = this.#nodePorts.propose(chosen);
        if (free === undefined) errors.push(invalidValue(path, 0, 'range is full'));
        else {
          port.nodePort = free;
          chosen.add(free);
        }
      } else if (!retained.has(port.nodePort)) {
        const reason = this.#nodePorts.refuse(port.nodePort);
        if (reason) errors.push(invalidValue(path, port.nodePort, reason));
      }
    }
    return errors;
  }
}

function refusal(address: string, reason: string): FieldError {
  return invalidValue('spec.clusterIPs', address, `failed to allocate IP ${address}: ${reason}`);
}
