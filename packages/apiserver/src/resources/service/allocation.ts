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
 * Gives cluster addresses and node ports to services. `admit` chooses and changes nothing here;
 * `commit` books what the stored service has, so a refused write leaves no trace.
 */
export class ServiceAllocation {
  readonly #addresses: Readonly<Record<IpFamily, IpAllocator>>;
  readonly #nodePorts = new NodePortAllocator();

  constructor(ranges: Readonly<Record<IpFamily, IpRange>>) {
    this.#addresses = { IPv4: new IpAllocator(ranges.IPv4), IPv6: new IpAllocator(ranges.IPv6) };
  }

  /** The address that the service `kubernetes` has. */
  get firstAddress(): string {
    return this.#addresses.IPv4.first;
  }

  /** Fills in addresses and node ports of a valid service, or says why that cannot be done. */
  admit(service: Service, previous: Service | undefined): FieldError[] {
    return [...this.#admitAddresses(service, previous), ...this.#admitNodePorts(service, previous)];
  }

  /** Books the change from one stored state of a service to the next. */
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
    const kept = addressesOf(previous);
    const errors: FieldError[] = [];
    const addresses = [...(spec.clusterIPs ?? [])];
    for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
      const allocator = this.#addresses[family];
      const given = addresses[i];
      if (given === undefined) {
        const address = allocator.propose();
        if (address) addresses[i] = address;
        else errors.push(refusal('', `range is full (${allocator.range.text})`));
      } else if (!kept.includes(given)) {
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
    const kept = nodePortsOf(previous);
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
      } else if (!kept.has(port.nodePort)) {
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
