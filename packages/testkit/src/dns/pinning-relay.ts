import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Closable } from '../owned.js';

const HOST = '127.0.0.1';

interface Flow {
  readonly socket: Socket;
  readonly target: number;
}

/**
 * One address in front of several servers of 127.0.0.1, as kube-proxy makes a Service over UDP with conntrack: a client's port
 * leads to the server that its first datagram was given to, at random, for as long as the relay lives.
 */
export class PinningRelay implements Closable {
  /** The index of the server that each new port leads to; drawn at random by default. */
  draw: (port: number) => number;
  readonly #front = createSocket('udp4');
  readonly #targets: readonly number[];
  readonly #flows = new Map<number, Flow>();

  private constructor(targets: readonly number[]) {
    this.#targets = targets;
    this.draw = () => Math.floor(Math.random() * targets.length);
    this.#front.on('message', (query, { port, address }) => {
      const { socket, target } = this.#flows.get(port) ?? this.#open(port, address);
      socket.send(query, target, HOST, () => undefined);
    });
  }

  /** Listens on a free port of 127.0.0.1, in front of servers on these ports. */
  static async start(targets: readonly number[]): Promise<PinningRelay> {
    const relay = new PinningRelay(targets);
    relay.#front.bind(0, HOST);
    await once(relay.#front, 'listening');
    return relay;
  }

  get at() {
    return { address: HOST, port: this.#front.address().port };
  }

  /** How many ports of clients it has seen. */
  get ports(): number {
    return this.#flows.size;
  }

  close(): void {
    this.#front.close();
    for (const { socket } of this.#flows.values()) socket.close();
    this.#flows.clear();
  }

  #open(port: number, address: string): Flow {
    const socket = createSocket('udp4');
    const flow = { socket, target: this.#targets[this.draw(port)]! };
    this.#flows.set(port, flow);
    socket.on('error', () => undefined);
    socket.on('message', (reply) => this.#front.send(reply, port, address, () => undefined));
    return flow;
  }
}
