import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A port of a program that hangs: it takes connections, and says nothing. */
export class SilentPort {
  readonly #server = createServer((socket) =>
    this.#sockets.add(socket.on('error', () => undefined)),
  );
  readonly #sockets = new Set<Socket>();

  static async open(): Promise<SilentPort> {
    const silent = new SilentPort();
    await once(silent.#server.listen(0, '127.0.0.1'), 'listening');
    return silent;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server.close(), 'close');
  }
}
