import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { Pace } from './pace.js';

/** What clients over TCP did. */
export interface TcpAttackResult {
  /** Connections that were opened, those for one that the server had closed included. */
  readonly opened: number;
  /** The most that the server had open at a time, as far as the clients saw. */
  readonly mostOpen: number;
  readonly writes: number;
  readonly perSecond: number;
  readonly bytesRead: number;
}

/** What the clients of an attack do. */
export interface TcpAttackPlan {
  readonly connections: number;
  /** Writes each second, all connections together. */
  readonly perSecond: number;
  /** What each connection sends immediately. */
  readonly first: readonly Uint8Array[];
  /** What it sends after that, in writes of this many bytes, repeatedly; default: nothing. */
  readonly stream?: Uint8Array;
  readonly writeBytes?: number;
  /** Closes its side after `first`, and waits. */
  readonly isHalfClosed?: boolean;
  /** Reads nothing of what the server sends. */
  readonly isDeaf?: boolean;
}

/** The methods of a attack over TCP in its own process. */
export interface TcpAttackerMethods {
  /** Opens these connections, each again when the server has closed it. */
  start(port: number, plans: readonly TcpAttackPlan[]): void;
  finish(): TcpAttackResult;
}

/** At most this many are opened per second, so that connecting is not the attack. */
const CONNECTS_PER_SECOND = 4_000;
const NICE = 10;

interface Client {
  readonly plan: TcpAttackPlan;
  readonly index: number;
  socket: Socket | undefined;
  isOpen: boolean;
  written: number;
}

/** TCP clients that are slow, send little, or do not read. */
export class TcpAttacker implements TcpAttackerMethods {
  #paces: Pace[] = [];
  #clients: Client[] = [];
  #opened = 0;
  #open = 0;
  #mostOpen = 0;
  #bytesRead = 0;

  start(port: number, plans: readonly TcpAttackPlan[]): void {
    setPriority(NICE);
    this.#opened = this.#open = this.#mostOpen = this.#bytesRead = 0;
    this.#clients = plans.flatMap((plan) =>
      Array.from({ length: plan.connections }, (_, index) => {
        return { plan, index, socket: undefined, isOpen: false, written: 0 };
      }),
    );
    let next = 0;
    const connecting = new Pace(CONNECTS_PER_SECOND, () => {
      const client = this.#clients[next++ % this.#clients.length]!;
      if (client.socket === undefined) this.#connect(client, port);
    });
    const writing = plans.flatMap((plan) => {
      if (plan.stream === undefined) return [];
      const own = this.#clients.filter((client) => client.plan === plan);
      let turn = 0;
      return [new Pace(plan.perSecond, () => this.#write(own[turn++ % own.length]!))];
    });
    this.#paces = [...writing, connecting];
  }

  finish(): TcpAttackResult {
    const writing = this.#paces.slice(0, -1);
    const sum = (value: (pace: Pace) => number) =>
      writing.reduce((total, pace) => total + value(pace), 0);
    const result = {
      opened: this.#opened,
      mostOpen: this.#mostOpen,
      writes: sum(({ done }) => done),
      perSecond: sum(({ perSecond }) => perSecond),
      bytesRead: this.#bytesRead,
    };
    for (const pace of this.#paces.splice(0)) pace.close();
    for (const { socket } of this.#clients.splice(0)) socket?.destroy();
    return result;
  }

  #connect(client: Client, port: number): void {
    const { plan } = client;
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    client.socket = socket;
    client.written = 0;
    this.#opened++;
    socket.on('error', () => socket.destroy());
    socket.on('connect', () => {
      client.isOpen = true;
      this.#mostOpen = Math.max(this.#mostOpen, ++this.#open);
      for (const bytes of plan.first) socket.write(bytes);
      if (plan.isHalfClosed === true) socket.end();
    });
    if (plan.isDeaf !== true) {
      socket.on('data', (chunk) => (this.#bytesRead += chunk.length));
      // The server closed the connection.
      socket.on('end', () => socket.destroy());
    }
    socket.on('close', () => {
      if (client.isOpen) this.#open--;
      client.isOpen = false;
      client.socket = undefined;
    });
  }

  #write(client: Client): void {
    const { plan, socket, isOpen } = client;
    const { stream, writeBytes = 1 } = plan;
    if (!isOpen || socket === undefined || stream === undefined) return;
    // The server does not read: nothing to add.
    if (socket.writableLength > 0) return;
    const at = client.written % stream.length;
    const bytes = stream.subarray(at, Math.min(stream.length, at + writeBytes));
    client.written += bytes.length;
    socket.write(bytes);
  }
}
