import { frameMessage, type Session, type SessionService } from '@kube-dns/transport';
import type { Random } from '../random.js';
import type { Scheduler } from '../scheduler.js';
import { type FleetProcess, runningProcess } from './fleet-process.js';

/** What a message and a connection cost a process, in microseconds of its CPU. */
export interface ConnectionCosts {
  /** To send a message to one subscriber. */
  readonly sendUs: number;
  /** To receive a message of a subscriber. */
  readonly receiveUs: number;
  /** To accept a connection, until its first message. */
  readonly acceptUs: number;
}

/** Who takes connections. */
export interface FleetServer {
  readonly process: FleetProcess;
  readonly costs: ConnectionCosts;
  readonly sessions: SessionService;
}

/** Where connections lead: undefined where no host is. */
export type Route = (from: FleetProcess, host: string) => FleetServer | undefined;

/** What it costs a process to receive so many bytes. */
export type ReceiveCost = (process: FleetProcess, bytes: number) => number;

const LENGTH_BYTES = 2;
const LOOPBACK_US = 20;
/** One way between hosts, for each connection one. */
const [LEAST_DELAY_US, MOST_DELAY_US] = [150, 250] as const;

/** What was on its way while the network was cut is sent again within this time. */
const SENT_AGAIN_US = 1_000_000;

/** Connections with a delay, message by message; what is lost in a cut network comes later. Nothing else is simulated of TCP. */
export class FleetNetwork {
  /** Connections that were opened, and those that no process took. */
  opened = 0;
  refused = 0;
  /** Messages of servers. */
  sent = 0;
  readonly scheduler: Scheduler;
  readonly #random: Random;
  readonly #route: Route;
  readonly #receiveUs: ReceiveCost;
  /** Processes between which nothing passes. */
  readonly #cut = new Map<FleetProcess, Set<FleetProcess>>();
  readonly #connections = new Map<FleetProcess, Set<FleetConnection>>();

  constructor(scheduler: Scheduler, random: Random, route: Route, receiveUs: ReceiveCost) {
    this.scheduler = scheduler;
    this.#random = random;
    this.#route = route;
    this.#receiveUs = receiveUs;
  }

  /** `connect` of node:net, for the process that runs. */
  readonly connect = ({ host, onread }: ConnectOptions): FleetSocket => {
    const from = runningProcess();
    const isLocal = host.startsWith('127.');
    const delayUs = isLocal ? LOOPBACK_US : this.#random.between(LEAST_DELAY_US, MOST_DELAY_US);
    const socket = new FleetSocket(onread);
    this.opened++;
    this.scheduler.at(from.nowUs + delayUs, () => {
      const server = this.#route(from, host);
      // A packet that asks for a connection is lost; who waits gives up.
      if (server !== undefined && this.isCut(from, server.process)) return;
      if (server?.process.isAlive !== true) {
        this.refused++;
        this.scheduler.after(delayUs, () => from.post(() => socket.fail('ECONNREFUSED'), 0));
        return;
      }
      const port = this.#random.between(1_024, 65_535);
      const connection = new FleetConnection(this, from, server, socket, delayUs, port);
      this.of(server.process).add(connection);
      connection.accept();
    });
    return socket;
  };

  /** The connections to a server. */
  of(server: FleetProcess): Set<FleetConnection> {
    let all = this.#connections.get(server);
    if (all === undefined) this.#connections.set(server, (all = new Set()));
    return all;
  }

  /** A server is killed: its kernel ends its connections. */
  kill(server: FleetProcess): void {
    server.end();
    for (const connection of this.of(server)) connection.endByServer();
    this.#connections.delete(server);
  }

  /** Nothing passes between a client and a server. */
  cut(client: FleetProcess, server: FleetProcess): void {
    const servers = this.#cut.get(client) ?? new Set();
    this.#cut.set(client, servers.add(server));
  }

  /** All passes that is sent from now on, and soon what was sent before: `onArrived` is called each time that has arrived. */
  heal(client: FleetProcess, onArrived: () => void): void {
    const servers = this.#cut.get(client) ?? new Set<FleetProcess>();
    this.#cut.delete(client);
    for (const server of servers)
      for (const connection of this.#between(client, server))
        connection.sendAgain(this.#random.below(SENT_AGAIN_US), onArrived);
  }

  /** Whether what a server sends on its connections arrives at a client now. */
  arrives(client: FleetProcess, server: FleetProcess): boolean {
    if (this.isCut(client, server)) return false;
    return this.#between(client, server).every(({ isHeld }) => !isHeld);
  }

  isCut(client: FleetProcess, server: FleetProcess): boolean {
    return this.#cut.get(client)?.has(server) === true;
  }

  receiveUs(process: FleetProcess, bytes: number): number {
    return this.#receiveUs(process, bytes);
  }

  #between(client: FleetProcess, server: FleetProcess): FleetConnection[] {
    return Array.from(this.of(server)).filter((connection) => connection.client === client);
  }
}

/** The server's end of a connection: a session; and what is on the way in both directions. */
class FleetConnection implements Session {
  readonly address: string;
  readonly port: number;
  /** Receivers are fast. */
  readonly unsentBytes = 0;
  readonly client: FleetProcess;
  readonly #network: FleetNetwork;
  readonly #server: FleetServer;
  readonly #socket: FleetSocket;
  readonly #delayUs: number;
  #onClose: (() => void) | undefined;
  #isClosed = false;
  /** What was sent while the network was cut; and when it arrives, before all that is sent later. */
  #held: (() => void)[] = [];
  #heldUntilUs = 0;

  constructor(
    network: FleetNetwork,
    client: FleetProcess,
    server: FleetServer,
    socket: FleetSocket,
    delayUs: number,
    port: number,
  ) {
    this.#network = network;
    this.client = client;
    this.#server = server;
    this.#socket = socket;
    this.#delayUs = delayUs;
    this.address = client.address;
    this.port = port;
  }

  accept(): void {
    this.#server.process.post(() => undefined, this.#server.costs.acceptUs);
    this.#socket.onWrite = (bytes) => this.#toServer(bytes);
    this.#socket.onDestroy = () => this.#closeByClient();
    this.#toClient(this.#network.scheduler.nowUs, () => this.#socket.emit('connect'), 0);
  }

  push(message: Uint8Array): void {
    this.pushFrames(frameMessage(message));
  }

  pushFrames(frames: Uint8Array): void {
    if (this.#isClosed) return;
    this.#network.sent++;
    const sentUs = this.#server.process.use(this.#server.costs.sendUs);
    const receiveUs = this.#network.receiveUs(this.client, frames.length);
    this.#toClient(sentUs, () => this.#socket.receive(frames), receiveUs);
  }

  stay(): void {
    // No connection ends for want of traffic.
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** By the server's program. */
  close(): void {
    this.endByServer();
    this.#network.of(this.#server.process).delete(this);
    this.#onClose?.();
  }

  /** By its program or its kernel. */
  endByServer(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#toClient(this.#network.scheduler.nowUs, () => this.#socket.emit('end'), 0);
  }

  /** After a cut: what is on its way arrives so much later. */
  sendAgain(laterUs: number, onArrived: () => void): void {
    const { scheduler } = this.#network;
    this.#heldUntilUs = scheduler.nowUs + laterUs + this.#delayUs;
    for (const arrive of this.#held) scheduler.at(this.#heldUntilUs, arrive);
    this.#held = [];
    scheduler.at(this.#heldUntilUs, onArrived);
  }

  /** Whether what is sent now waits for what was on its way in a cut. */
  get isHeld(): boolean {
    return this.#network.scheduler.nowUs < this.#heldUntilUs;
  }

  /** Something arrives at the other end, once the network lets it. */
  #pass(sentUs: number, arrive: () => void): void {
    const { scheduler } = this.#network;
    if (this.#network.isCut(this.client, this.#server.process)) this.#held.push(arrive);
    else scheduler.at(Math.max(sentUs + this.#delayUs, this.#heldUntilUs), arrive);
  }

  #toClient(sentUs: number, run: () => void, costUs: number): void {
    this.#pass(sentUs, () => this.client.post(run, costUs));
  }

  #toServer(bytes: Uint8Array): void {
    const { process, costs, sessions } = this.#server;
    const message = Uint8Array.from(bytes.subarray(LENGTH_BYTES));
    this.#pass(this.client.nowUs, () => {
      if (this.#isClosed) return;
      process.post(() => sessions.receive(message, this), costs.receiveUs);
    });
  }

  #closeByClient(): void {
    this.#pass(this.client.nowUs, () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      this.#network.of(this.#server.process).delete(this);
      this.#server.process.post(() => this.#onClose?.(), 0);
    });
  }
}

type Listener = (value?: unknown) => void;

/** What a subscription connects with: it receives in memory of its own. */
interface ConnectOptions {
  readonly host: string;
  readonly onread: OnRead;
}

interface OnRead {
  readonly buffer: Uint8Array;
  readonly callback: (length: number) => boolean;
}

/** What a subscription uses of a socket. */
export class FleetSocket {
  onWrite: ((bytes: Uint8Array) => void) | undefined;
  onDestroy: (() => void) | undefined;
  #listeners: Record<string, Listener> | undefined = {};
  readonly #onRead: OnRead;

  constructor(onRead: OnRead) {
    this.#onRead = onRead;
  }

  on(event: string, listener: Listener): this {
    if (this.#listeners !== undefined) this.#listeners[event] = listener;
    return this;
  }

  emit(event: string, value?: unknown): void {
    this.#listeners?.[event]?.(value);
  }

  receive(bytes: Uint8Array): void {
    const { buffer, callback } = this.#onRead;
    for (let at = 0; at < bytes.length; at += buffer.length) {
      if (this.#listeners === undefined) return;
      const part = bytes.subarray(at, at + buffer.length);
      buffer.set(part);
      callback(part.length);
    }
  }

  fail(code: string): void {
    this.emit('error', Object.assign(new Error(code), { code }));
  }

  write(bytes: Uint8Array): void {
    this.onWrite?.(bytes);
  }

  destroy(): void {
    this.#listeners = undefined;
    this.onDestroy?.();
    this.onDestroy = this.onWrite = undefined;
  }

  pause(): void {
    // It reads on at once.
  }

  resume(): void {
    // As above.
  }
}
