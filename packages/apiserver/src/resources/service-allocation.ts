import { invalidValue, type FieldError } from '../errors.js';
import { formatIp, isInRange, parseIp, type IpFamily, type IpRange } from './ip.js';
import { hasClusterIps, isHeadless, usesNodePorts, type Service } from './service.js';

/** Allocates the addresses of one range, each to one service at a time. */
export class IpAllocator {
  readonly range: IpRange;
  readonly #usable: bigint;
  readonly #used = new Set<bigint>();
  /** Offset of the first address for services that request none. */
  readonly #dynamicStart: bigint;
  #next: bigint;
  #proposed: bigint | undefined;

  constructor(range: IpRange) {
    this.range = range;
    // The network address is never allocated, nor the broadcast address of an IPv4 range.
    this.#usable = range.size - (range.family === 'IPv4' ? 2n : 1n);
    this.#dynamicStart = dynamicStart(range.size);
    this.#next = this.#dynamicStart;
  }

  get first(): string {
    return formatIp({ family: this.range.family, value: this.range.base + 1n });
  }

  /** Why an address cannot be allocated, or undefined when it can. */
  refuse(address: string): string | undefined {
    const ip = parseIp(address);
    const isUsable =
      ip && isInRange(ip, this.range) && this.#isOffsetUsable(ip.value - this.range.base);
    if (!isUsable) {
      return `provided IP is not in the valid range. The range of valid IPs is ${this.range.text}`;
    }
    return this.#used.has(ip.value) ? 'provided IP is already allocated' : undefined;
  }

  /**
   * A free address, or undefined when none is left; `acquire` allocates it. Addresses are proposed in
   * order, and released ones not before the end of the range is reached.
   */
  propose(): string | undefined {
    for (let tried = 0n; tried <= BigInt(this.#used.size); tried++) {
      const offset = this.#wrap(this.#next + tried);
      const value = this.range.base + offset;
      if (!this.#used.has(value)) {
        this.#proposed = value;
        return formatIp({ family: this.range.family, value });
      }
    }
    return undefined;
  }

  acquire(address: string): void {
    const value = parseIp(address)!.value;
    this.#used.add(value);
    if (value === this.#proposed) this.#next = value - this.range.base + 1n;
  }

  release(address: string): void {
    this.#used.delete(parseIp(address)!.value);
  }

  #isOffsetUsable(offset: bigint): boolean {
    return offset >= 1n && offset <= this.#usable;
  }

  #wrap(offset: bigint): bigint {
    return ((offset - 1n) % this.#usable) + 1n;
  }
}

/**
 * The lower part of a range is reserved for addresses that services request.
 * Source: KEP-3070, min(max(16, size/16), 256).
 */
function dynamicStart(size: bigint): bigint {
  const part = size / 16n;
  const band = part < 16n ? 16n : part > 256n ? 256n : part;
  return band < size - 2n ? band + 1n : 1n;
}

/** Source: kube-apiserver --service-node-port-range. */
const FIRST_NODE_PORT = 30_000;
const LAST_NODE_PORT = 32_767;

function addressesOf(service: Service | undefined): readonly string[] {
  if (!service || !hasClusterIps(service.spec) || isHeadless(service.spec)) return [];
  return service.spec.clusterIPs ?? [];
}

function nodePortsOf(service: Service | undefined): Set<number> {
  const ports = service?.spec.ports ?? [];
  return new Set(ports.flatMap(({ nodePort }) => (nodePort === undefined ? [] : [nodePort])));
}

/**
 * Allocates cluster addresses and node ports of services. `admit` only chooses them; `commit`
 * allocates those of the stored service, so a refused write has no effect.
 */
export class ServiceAllocation {
  readonly #addresses: Readonly<Record<IpFamily, IpAllocator>>;
  readonly #nodePorts = new Set<number>();

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
    for (const address of addressesOf(next)) allocatorOf(address).acquire(address);
    for (const port of nodePortsOf(previous)) this.#nodePorts.delete(port);
    for (const port of nodePortsOf(next)) this.#nodePorts.add(port);
  }

  #admitAddresses(service: Service, previous: Service | undefined): FieldError[] {
    const { spec } = service;
    if (!hasClusterIps(spec) || isHeadless(spec)) return [];
    const retained = addressesOf(previous);
    const errors: FieldError[] = [];
    const addresses = [...(spec.clusterIPs ?? [])];
    for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
      const allocator = this.#addresses[family];
      const requested = addresses[i];
      if (requested === undefined) {
        const address = allocator.propose();
        if (address) addresses[i] = address;
        else errors.push(refusal('', `range is full (${allocator.range.text})`));
      } else if (!retained.includes(requested)) {
        const reason = allocator.refuse(requested);
        if (reason) errors.push(refusal(requested, reason));
      }
    }
    spec.clusterIPs = addresses;
    if (addresses[0] !== undefined) spec.clusterIP = addresses[0];
    return errors;
  }

  #admitNodePorts(service: Service, previous: Service | undefined): FieldError[] {
    if (!usesNodePorts(service.spec)) return [];
    const retained = nodePortsOf(previous);
    const chosen = nodePortsOf(service);
    const errors: FieldError[] = [];
    for (const [i, port] of (service.spec.ports ?? []).entries()) {
      const path = `spec.ports[${i}].nodePort`;
      if (port.nodePort === undefined) {
        const free = this.#freeNodePort(chosen);
        if (free === undefined) errors.push(invalidValue(path, 0, 'range is full'));
        else {
          port.nodePort = free;
          chosen.add(free);
        }
      } else if (!retained.has(port.nodePort)) {
        const reason = this.#refuseNodePort(port.nodePort);
        if (reason) errors.push(invalidValue(path, port.nodePort, reason));
      }
    }
    return errors;
  }

  #refuseNodePort(port: number): string | undefined {
    if (port < FIRST_NODE_PORT || port > LAST_NODE_PORT) {
      return `provided port is not in the valid range. The range of valid ports is ${FIRST_NODE_PORT}-${LAST_NODE_PORT}`;
    }
    return this.#nodePorts.has(port) ? 'provided port is already allocated' : undefined;
  }

  #freeNodePort(except: ReadonlySet<number>): number | undefined {
    for (let port = FIRST_NODE_PORT; port <= LAST_NODE_PORT; port++) {
      if (!this.#nodePorts.has(port) && !except.has(port)) return port;
    }
    return undefined;
  }
}

function refusal(address: string, reason: string): FieldError {
  return invalidValue('spec.clusterIPs', address, `failed to allocate IP ${address}: ${reason}`);
}
