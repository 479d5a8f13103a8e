import type {
  BoundDatagramSocket,
  BoundListener,
  BoundSocket,
  Endpoint,
  ProcessMachine,
  StreamListener,
} from '../host.js';
import { isLoopback, type Network } from '../network.js';
import type { Random } from '../random.js';
import type { Scheduler } from '../scheduler.js';
import { MachineFiles } from './files.js';

export interface MachineOptions {
  readonly name: string;
  /** Its addresses in the network, the one that it sends from first in each family. */
  readonly addresses: readonly string[];
  /** Addresses that are known on this machine and to its pods alone, such as 169.254.20.10 of a node. */
  readonly localAddresses?: readonly string[];
  /** The node that a pod's machine is on. */
  readonly node?: Machine;
}

const FIRST_EPHEMERAL = 32_768;
const LAST_EPHEMERAL = 60_999;

/** A node, or a pod with addresses of its own: a clock, files, sockets, processes. */
export class Machine implements ProcessMachine {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly node: Machine | undefined;
  readonly network: Network;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly files: MachineFiles;
  /** Added to `Date`, in milliseconds; the monotonic clock never jumps. */
  clockSkewMs = 0;
  isOn = true;
  readonly #localAddresses: readonly string[];
  readonly #datagramSockets = new Map<number, BoundDatagramSocket[]>();
  readonly #listeners = new Map<number, BoundListener[]>();
  #lastPid = 0;

  constructor(options: MachineOptions, network: Network, random: Random) {
    this.name = options.name;
    this.addresses = options.addresses;
    this.#localAddresses = options.localAddresses ?? [];
    this.node = options.node;
    this.network = network;
    this.scheduler = network.scheduler;
    this.random = random.fork(options.name);
    this.files = new MachineFiles(this.scheduler);
    network.attach(this);
  }

  nextPid(): number {
    return ++this.#lastPid;
  }

  get allAddresses(): readonly string[] {
    return [...this.addresses, ...this.#localAddresses];
  }

  isOwnAddress(address: string): boolean {
    return (
      isLoopback(address) ||
      this.addresses.includes(address) ||
      this.#localAddresses.includes(address)
    );
  }

  /** What a packet to an address has as its source when the socket has none. */
  sourceFor(target: string): string {
    if (isLoopback(target)) return target.includes(':') ? '::1' : '127.0.0.1';
    if (this.#localAddresses.includes(target)) return target;
    const isIpv6 = target.includes(':');
    const own = this.addresses.find((address) => address.includes(':') === isIpv6);
    return own ?? (isIpv6 ? '::' : '0.0.0.0');
  }

  /** Binds; undefined when the port is in use. Port 0 is one of the system's choice. */
  bindDatagram(port: number, conflicts: (other: BoundSocket) => boolean): number | undefined {
    return this.#choosePort(this.#datagramSockets, port, conflicts);
  }

  addDatagramSocket(socket: BoundDatagramSocket): void {
    addTo(this.#datagramSockets, socket.boundPort, socket);
  }

  removeDatagramSocket(socket: BoundDatagramSocket): void {
    removeFrom(this.#datagramSockets, socket.boundPort, socket);
  }

  bindListener(port: number, conflicts: (other: BoundSocket) => boolean): number | undefined {
    return this.#choosePort(this.#listeners, port, conflicts);
  }

  addListener(listener: BoundListener): void {
    addTo(this.#listeners, listener.boundPort, listener);
  }

  removeListener(listener: BoundListener): void {
    removeFrom(this.#listeners, listener.boundPort, listener);
  }

  findListener(target: Endpoint): StreamListener | undefined {
    return bestMatch(this.#listeners.get(target.port), target.address);
  }

  ephemeralPort(): number {
    return this.random.between(FIRST_EPHEMERAL, LAST_EPHEMERAL);
  }

  receiveDatagram(source: Endpoint, target: Endpoint, bytes: Buffer): boolean {
    const sockets = this.#datagramSockets
      .get(target.port)
      ?.filter(({ peer }) => isFrom(source, peer));
    const socket = bestMatch(sockets, target.address);
    if (socket === undefined) return false;
    socket.process.run(() => socket.onDatagram(bytes, source));
    return true;
  }

  receiveUnreachable(source: Endpoint, target: Endpoint): void {
    for (const socket of this.#datagramSockets.get(source.port) ?? []) {
      if (socket.peer === undefined || !isFrom(target, socket.peer)) continue;
      socket.process.run(() => socket.onUnreachable());
    }
  }

  #choosePort<T>(
    table: ReadonlyMap<number, readonly T[]>,
    port: number,
    conflicts: (other: T) => boolean,
  ): number | undefined {
    const isFree = (candidate: number) => !(table.get(candidate) ?? []).some(conflicts);
    if (port !== 0) return isFree(port) ? port : undefined;
    for (let i = 0; i < 1_000; i++) {
      const candidate = this.ephemeralPort();
      if (isFree(candidate)) return candidate;
    }
    return undefined;
  }
}

function isFrom(source: Endpoint, peer: Endpoint | undefined): boolean {
  return peer === undefined || (peer.port === source.port && peer.address === source.address);
}

/** The socket with the address itself before one for all addresses; a connected one before others. */
function bestMatch<T extends BoundSocket & { readonly peer?: Endpoint | undefined }>(
  sockets: readonly T[] | undefined,
  address: string,
): T | undefined {
  const isIpv6 = address.includes(':');
  let best: T | undefined;
  let bestScore = 0;
  for (const socket of sockets ?? []) {
    if (socket.isIpv6 !== isIpv6 && !(socket.isIpv6 && socket.takesIpv4)) continue;
    if (socket.boundAddress !== '' && socket.boundAddress !== address) continue;
    const score = (socket.boundAddress === '' ? 1 : 2) + (socket.peer === undefined ? 0 : 4);
    if (score > bestScore) {
      best = socket;
      bestScore = score;
    }
  }
  return best;
}

function addTo<T>(table: Map<number, T[]>, port: number, item: T): void {
  const items = table.get(port);
  if (items === undefined) table.set(port, [item]);
  else items.push(item);
}

function removeFrom<T>(table: Map<number, T[]>, port: number, item: T): void {
  const rest = (table.get(port) ?? []).filter((other) => other !== item);
  if (rest.length === 0) table.delete(port);
  else table.set(port, rest);
}
