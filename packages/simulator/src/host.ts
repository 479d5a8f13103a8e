import type { MachineFiles } from './machine/files.js';
import type { Random } from './random.js';
import type { ScheduledEvent, Scheduler } from './scheduler.js';

// What the parts of the simulation know of each other: the network of machines, a machine of its processes, and the
// modules of a process of both.

/** Where packets come from or go to. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

export type Protocol = 'udp' | 'tcp';

/** What the network knows of a machine. */
export interface NetworkMachine {
  readonly name: string;
  readonly addresses: readonly string[];
  /** The node that it is a pod of. */
  readonly node: NetworkMachine | undefined;
  readonly isOn: boolean;
  isOwnAddress(address: string): boolean;
  /** Gives a datagram to its socket; false when the port is closed. */
  receiveDatagram(source: Endpoint, target: Endpoint, bytes: Buffer): boolean;
  /** ICMP "port unreachable" for what was sent from a socket to a target: only a connected socket learns of it. */
  receiveUnreachable(source: Endpoint, target: Endpoint): void;
  findListener(target: Endpoint): StreamListener | undefined;
}

/** A route of one packet: the machine it goes to, and what the network made of its addresses. */
export interface Route {
  readonly machine: NetworkMachine;
  readonly source: Endpoint;
  readonly target: Endpoint;
  readonly isLocal: boolean;
}

/** What a machine knows of the network. */
export interface PacketNetwork {
  readonly trace: NetworkTrace | undefined;
  attach(machine: NetworkMachine): void;
  /** Where a packet goes; undefined when no machine has the address, `refused` when it is a Service without backends. */
  route(protocol: Protocol, from: NetworkMachine, source: Endpoint, target: Endpoint): Route | 'refused' | undefined; // prettier-ignore
  /** How long a packet takes, in microseconds; undefined when it is lost. */
  transit(from: NetworkMachine, to: NetworkMachine): number | undefined;
  /** Sends a datagram; false when the firewall of its own machine refuses it. */
  sendDatagram(from: NetworkMachine, source: Endpoint, target: Endpoint, bytes: Buffer): boolean;
}

/** Receives what passes, when something is drawn. */
export interface NetworkTrace {
  onDatagram(from: string, to: string, bytes: Buffer, isLost: boolean): void;
  onStream(from: string, to: string, bytes: Buffer): void;
  /** The API server has another state of a service, as `web.shop`. */
  onChange(service: string, text: string): void;
}

/** What a process knows of its machine. */
export interface ProcessMachine extends NetworkMachine {
  readonly network: PacketNetwork;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly files: MachineFiles;
  /** All addresses, those too that only the machine and its pods know. */
  readonly allAddresses: readonly string[];
  readonly clockSkewMs: number;
  nextPid(): number;
  sourceFor(target: string): string;
  ephemeralPort(): number;
  bindDatagram(port: number, conflicts: (other: BoundSocket) => boolean): number | undefined;
  addDatagramSocket(socket: BoundDatagramSocket): void;
  removeDatagramSocket(socket: BoundDatagramSocket): void;
  bindListener(port: number, conflicts: (other: BoundSocket) => boolean): number | undefined;
  addListener(listener: BoundListener): void;
  removeListener(listener: BoundListener): void;
}

/** What the modules of a process know of it. */
export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  readonly machine: ProcessMachine;
  readonly startedUs: number;
  /** Runs a callback as this process: not when it is dead, and later when it is frozen. */
  run(callback: () => void): void;
  schedule(delayUs: number, callback: () => void): ScheduledEvent;
  forget(event: ScheduledEvent): void;
  /** The system takes the resource back when the process ends. */
  own(resource: Resource): void;
  disown(resource: Resource): void;
  end(exit: ProcessExit): void;
  /** Takes what it writes to its outputs. */
  write(bytes: string | Uint8Array): void;
}

/** Something that the system takes back when its process ends: a socket, a listener, a watch of a file. */
export interface Resource {
  onProcessEnd(): void;
}

export interface ProcessExit {
  /** Of `process.exit`, or 1 for an error that no handler took; 137 when it was killed. */
  readonly code: number;
  readonly error?: unknown;
}

/** `process.exit` ends what runs by throwing this. */
export const EXIT = Symbol('exit');

/** A socket with a port. */
export interface BoundSocket {
  readonly process: RunningProcess;
  /** '' for all addresses; of both families when `takesIpv4`. */
  readonly boundAddress: string;
  readonly boundPort: number;
  readonly isIpv6: boolean;
  readonly takesIpv4: boolean;
}

export interface BoundDatagramSocket extends BoundSocket {
  /** The only sender that is taken, when it is connected. */
  readonly peer: Endpoint | undefined;
  onDatagram(bytes: Buffer, source: Endpoint): void;
  onUnreachable(): void;
}

export type BoundListener = BoundSocket & StreamListener;

/** A listening socket: it gets the ends of connections that clients open. */
export interface StreamListener {
  readonly process: RunningProcess;
  onConnection(stream: Stream): void;
}

/** One end of a TCP connection, for its program. */
export interface Stream {
  readonly local: Endpoint;
  readonly remote: Endpoint;
  handler: StreamHandler | undefined;
  /** Whether the program may write on; else it waits for `onDrained`. */
  write(bytes: Buffer): boolean;
  /** FIN. */
  end(): void;
  /** FIN, and what arrives from now on is reset. */
  close(): void;
  /** RST: what is not sent yet is lost. */
  reset(): void;
  /** The program has read bytes. */
  consumed(length: number): void;
}

/** What the program of one end does with what arrives. */
export interface StreamHandler {
  onConnected(): void;
  onBytes(bytes: Buffer): void;
  onEnd(): void;
  /** The connection is no more: ECONNREFUSED, ECONNRESET, ETIMEDOUT or EHOSTUNREACH. */
  onFailure(code: string): void;
  /** What was written has left the send buffer far enough for more. */
  onDrained(): void;
}
