import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Closable } from '@kube-dns/testkit';
import { PLAIN, type RelayFigures, type RelayManner } from './relay-manner.js';

const HOST = '127.0.0.1';
/** Longer than any copy is late: a flow that was silent for so long is forgotten. */
const IDLE_MS = 20_000;

interface Flow {
  readonly socket: Socket;
  usedMs: number;
}

/** A name server's address for UDP, in front of a server of 127.0.0.1, and the way between them. */
export class UdpRelay implements Closable {
  manner: RelayManner = PLAIN;
  readonly #front = createSocket('udp4');
  readonly #target: number;
  /** By the client's address and port. */
  readonly #flows = new Map<string, Flow>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #sweep: NodeJS.Timeout;
  #datagrams = 0;
  #overtaken = 0;
  #copies = 0;
  #latest = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#front.on('message', (bytes, peer) => this.#take(bytes, peer));
    this.#sweep = setInterval(() => this.#forgetIdle(), IDLE_MS);
  }

  /** Serves at an address of this host; rejects with the system's error. */
  static async start(address: string, port: number, target: number): Promise<UdpRelay> {
    const relay = new UdpRelay(target);
    relay.#front.bind(port, address);
    await once(relay.#front, 'listening');
    // "Connection refused" of a port that its client has given up.
    relay.#front.on('error', () => undefined);
    return relay;
  }

  get figures(): RelayFigures {
    return { datagrams: this.#datagrams, overtaken: this.#overtaken, copies: this.#copies };
  }

  /** May be called twice. */
  close(): Promise<void> {
    clearInterval(this.#sweep);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    for (const { socket } of this.#flows.values()) socket.close();
    this.#flows.clear();
    try {
      this.#front.close();
    } catch {
      // It was closed before.
    }
    return Promise.resolve();
  }

  #take(bytes: Buffer, peer: RemoteInfo): void {
    const key = `${peer.address}:${peer.port}`;
    const flow = this.#flows.get(key) ?? this.#open(key, peer);
    flow.usedMs = performance.now();
    this.#pass(() => {
      // A flow that was closed meanwhile has nobody who waits.
      if (this.#flows.get(key) !== flow) return;
      flow.socket.send(bytes, this.#target, HOST, () => undefined);
    });
  }

  #open(key: string, { address, port }: RemoteInfo): Flow {
    const flow: Flow = { socket: createSocket('udp4'), usedMs: 0 };
    this.#flows.set(key, flow);
    flow.socket.on('error', () => undefined);
    flow.socket.on('message', (reply) => {
      this.#pass(() => this.#front.send(reply, port, address, () => undefined));
    });
    return flow;
  }

  #pass(send: () => void): void {
    const { delayMs, jitterMs, copiesAfterMs } = this.manner;
    const number = ++this.#datagrams;
    const afterMs = delayMs + Math.random() * jitterMs;
    this.#after(afterMs, () => {
      if (number < this.#latest) this.#overtaken++;
      this.#latest = Math.max(this.#latest, number);
      send();
    });
    for (const laterMs of copiesAfterMs) {
      this.#after(afterMs + laterMs, () => {
        this.#copies++;
        send();
      });
    }
  }

  #after(ms: number, act: () => void): void {
    if (ms === 0) {
      act();
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  #forgetIdle(): void {
    const beforeMs = performance.now() - IDLE_MS;
    for (const [key, { socket, usedMs }] of this.#flows) {
      if (usedMs >= beforeMs) continue;
      socket.close();
      this.#flows.delete(key);
    }
  }
}
