import { isIPv6 } from 'node:net';
import type {
  Endpoint,
  NetworkMachine,
  NetworkTrace,
  PacketNetwork,
  Protocol,
  Route,
} from './host.js';
import type { Random } from './random.js';
import type { Scheduler } from './scheduler.js';

/** What happens to packets between two machines, in one direction. */
export interface Link {
  /** One way, in microseconds; a packet takes this and up to `jitterUs` more. */
  delayUs: number;
  jitterUs: number;
  /** Probabilities from 0 to 1, for each packet. */
  loss: number;
  duplicate: number;
  /** A packet that is reordered takes up to 5 ms more. */
  reorder: number;
}

export const GOOD_LINK: Link = { delayUs: 150, jitterUs: 100, loss: 0, duplicate: 0, reorder: 0 };
const LOOPBACK_US = 20;
const REORDER_US = 5_000;

/** A virtual address whose connections and datagrams go to one of several machines, as kube-proxy's rules do. */
export interface Service {
  readonly address: string;
  /** By `tcp:53`: the ports of the backends. */
  readonly ports: ReadonlyMap<string, number>;
  /** Ready addresses of pods; may change at any time. */
  backends: readonly string[];
}

/** What Linux remembers of the last connection of a client's port to a Service, so that replies come from its address. */
interface Tracked {
  readonly backend: Endpoint;
  readonly service: Endpoint;
  lastUsedUs: number;
}

/** Linux forgets a UDP "connection" that is unused for so long (`nf_conntrack_udp_timeout_stream`). */
const UDP_TRACKED_US = 120_000_000;
/** Connections that are forgotten are removed when there are so many, or twice as many as the last time. */
const MAX_TRACKED = 20_000;

/** All machines and the links between them. */
export class Network implements PacketNetwork {
  readonly scheduler: Scheduler;
  readonly #random: Random;
  readonly #machines = new Map<string, NetworkMachine>();
  readonly #services = new Map<string, Service>();
  readonly #links = new Map<string, Link>();
  readonly #cuts = new Set<string>();
  /** By the client's address and port. */
  readonly #tracked = new Map<string, Tracked>();
  #maxTracked = MAX_TRACKED;
  /** Of links without conditions of their own. */
  link: Link = GOOD_LINK;
  trace: NetworkTrace | undefined;
  /** Datagrams that were delivered, and those that got lost. */
  delivered = 0;
  lost = 0;

  constructor(scheduler: Scheduler, random: Random) {
    this.scheduler = scheduler;
    this.#random = random;
  }

  attach(machine: NetworkMachine): void {
    for (const address of machine.addresses) {
      if (this.#machines.has(address)) throw new Error(`two machines have ${address}`);
      this.#machines.set(address, machine);
    }
  }

  detach(machine: NetworkMachine): void {
    for (const address of machine.addresses) this.#machines.delete(address);
  }

  addService(service: Service): void {
    this.#services.set(service.address, service);
  }

  /** Packets between two machines get these conditions, in both directions. */
  setLink(one: NetworkMachine, other: NetworkMachine, link: Link | undefined): void {
    for (const key of [pair(one, other), pair(other, one)]) {
      if (link === undefined) this.#links.delete(key);
      else this.#links.set(key, link);
    }
  }

  /** Nothing passes between two machines until `mend`; established connections are not ended by it. */
  cut(one: NetworkMachine, other: NetworkMachine): void {
    this.#cuts.add(pair(one, other)).add(pair(other, one));
  }

  mend(one: NetworkMachine, other: NetworkMachine): void {
    this.#cuts.delete(pair(one, other));
    this.#cuts.delete(pair(other, one));
  }

  mendAll(): void {
    this.#cuts.clear();
    this.#links.clear();
    this.link = GOOD_LINK;
  }

  route(
    protocol: Protocol,
    from: NetworkMachine,
    source: Endpoint,
    target: Endpoint,
  ): Route | 'refused' | undefined {
    if (from.isOwnAddress(target.address)) {
      return { machine: from, source, target, isLocal: true };
    }
    const ofNode = from.node?.isOwnAddress(target.address) === true ? from.node : undefined;
    if (ofNode !== undefined && !isLoopback(target.address)) {
      return { machine: ofNode, source, target, isLocal: false };
    }
    const service = this.#services.get(target.address);
    if (service !== undefined) {
      const backend = this.#backend(protocol, service, source, target);
      if (backend === undefined || backend === 'refused') return backend;
      const machine = this.#machines.get(backend.address);
      return machine && { machine, source, target: backend, isLocal: machine === from };
    }
    const machine = this.#machines.get(target.address);
    if (machine === undefined) return undefined;
    // A client that asks the backend itself, from the same port, gets its answers from there.
    const asked = this.#tracked.get(trackKey(protocol, source));
    if (asked !== undefined && isSame(asked.backend, target)) this.#tracked.delete(trackKey(protocol, source)); // prettier-ignore
    return { machine, source: this.#asSent(protocol, source, target), target, isLocal: false };
  }

  /** How long a packet takes; undefined when it is lost. */
  transit(from: NetworkMachine, to: NetworkMachine): number | undefined {
    if (from === to) return LOOPBACK_US;
    const key = pair(from, to);
    if (this.#cuts.has(key) || !to.isOn) return undefined;
    const link = this.#links.get(key) ?? this.link;
    if (this.#random.chance(link.loss)) return undefined;
    const late = this.#random.chance(link.reorder) ? this.#random.below(REORDER_US) : 0;
    return link.delayUs + this.#random.below(link.jitterUs + 1) + late;
  }

  sendDatagram(from: NetworkMachine, source: Endpoint, target: Endpoint, bytes: Buffer): boolean {
    const route = this.route('udp', from, source, target);
    if (route === undefined || route === 'refused') {
      this.lost++;
      if (route === undefined) return true;
      this.scheduler.after(0, () => from.receiveUnreachable(source, target));
      return false;
    }
    this.#deliver(from, route, bytes);
    const link = this.#links.get(pair(from, route.machine)) ?? this.link;
    if (!route.isLocal && this.#random.chance(link.duplicate)) this.#deliver(from, route, bytes);
    return true;
  }

  #deliver(from: NetworkMachine, route: Route, bytes: Buffer): void {
    const delayUs = this.transit(from, route.machine);
    this.trace?.onDatagram(from.name, route.machine.name, bytes, delayUs === undefined);
    if (delayUs === undefined) {
      this.lost++;
      return;
    }
    this.scheduler.after(delayUs, () => {
      this.delivered++;
      const { machine, source, target } = route;
      if (machine.receiveDatagram(source, target, bytes)) return;
      // ICMP "port unreachable" takes the way back.
      const backUs = machine.isOn ? this.transit(machine, from) : undefined;
      if (backUs === undefined) return;
      this.scheduler.after(backUs, () =>
        from.receiveUnreachable(source, this.#asSent('udp', target, source)),
      );
    });
  }

  /** The address that a client knows a backend by. */
  #asSent(protocol: Protocol, backend: Endpoint, client: Endpoint): Endpoint {
    const tracked = this.#tracked.get(trackKey(protocol, client));
    return tracked !== undefined && isSame(tracked.backend, backend) ? tracked.service : backend;
  }

  #backend(
    protocol: Protocol,
    service: Service,
    source: Endpoint,
    target: Endpoint,
  ): Endpoint | 'refused' | undefined {
    const port = service.ports.get(`${protocol}:${target.port}`);
    if (port === undefined) return undefined;
    const key = trackKey(protocol, source);
    const known = this.#tracked.get(key);
    const nowUs = this.scheduler.nowUs;
    // A tracked connection keeps its backend, even one that is gone: so does Linux, until kube-proxy deletes it.
    const isKnown =
      known !== undefined &&
      nowUs - known.lastUsedUs < UDP_TRACKED_US &&
      isSame(known.service, target) &&
      service.backends.includes(known.backend.address);
    if (isKnown) {
      known.lastUsedUs = nowUs;
      return known.backend;
    }
    // As kube-proxy rejects what is for a Service without endpoints.
    if (service.backends.length === 0) return 'refused';
    const backend = { address: this.#random.pick(service.backends), port };
    const tracked = { backend, service: target, lastUsedUs: nowUs };
    if (this.#tracked.size >= this.#maxTracked) this.#forget();
    this.#tracked.set(key, tracked);
    return backend;
  }

  #forget(): void {
    for (const [key, { lastUsedUs }] of this.#tracked) {
      if (this.scheduler.nowUs - lastUsedUs > UDP_TRACKED_US) this.#tracked.delete(key);
    }
    this.#maxTracked = Math.max(MAX_TRACKED, 2 * this.#tracked.size);
  }
}

function trackKey(protocol: Protocol, { address, port }: Endpoint): string {
  return `${protocol} ${address} ${port}`;
}

function isSame(one: Endpoint, other: Endpoint): boolean {
  return one.port === other.port && one.address === other.address;
}

function pair(from: NetworkMachine, to: NetworkMachine): string {
  return `${from.name}>${to.name}`;
}

export function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

/** `::ffff:10.0.0.1` is 10.0.0.1. */
export function unmapped(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

export function familyOf(address: string): 4 | 6 {
  return isIPv6(address) ? 6 : 4;
}
