import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Closable } from '@kube-dns/testkit';

const HOST = '127.0.0.1';

/** A server's address for TCP, in front of a port of 127.0.0.1; what passes can be held for a while. */
export class TcpRelay implements Closable {
  /** How much later than it came everything is passed on, in both directions. */
  delayMs = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();

  private constructor(target: number) {
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const server = connect({ host: HOST, port: target, allowHalfOpen: true, noDelay: true });
      this.#carry(client, server);
      this.#carry(server, client);
    });
  }

  /** Serves at an address of this host; rejects with the system's error. */
  static async start(address: string, port: number, target: number): Promise<TcpRelay> {
    const relay = new TcpRelay(target);
    relay.#server.listen(port, address);
    await once(relay.#server, 'listening');
    return relay;
  }

  /** Ends every connection. May be called twice. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #carry(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    const waiting: { readonly dueMs: number; readonly act: () => void }[] = [];
    // One timer for each: a delay that becomes shorter must not let bytes pass others.
    const later = (act: () => void) => {
      waiting.push({ dueMs: performance.now() + this.delayMs, act });
      if (waiting.length === 1) passDue();
    };
    const passDue = () => {
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        const leftMs = next.dueMs - performance.now();
        if (leftMs > 0) {
          this.#after(leftMs, passDue);
          return;
        }
        next.act();
        waiting.shift();
      }
    };
    from.on('data', (bytes) => later(() => to.write(bytes)));
    from.on('end', () => later(() => to.end()));
    from.on('error', () => to.destroy());
    from.on('close', (hadError) => {
      this.#sockets.delete(from);
      if (hadError) to.destroy();
    });
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, Math.ceil(ms));
    this.#timers.add(timer);
  }
}
