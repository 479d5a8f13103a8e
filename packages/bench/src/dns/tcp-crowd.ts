import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { frameMessage } from '@kube-dns/transport';
import { encodeQuery } from '@kube-dns/wire';

/** The methods of a crowd in its own process. */
export interface TcpCrowdMethods {
  /** Connects `count` clients; each asks one question and is idle afterwards. */
  open(port: number, count: number): Promise<void>;
  /** How many are still connected. */
  connected(): number;
  /** Disconnects them all. */
  leave(): Promise<void>;
}

const QUERY = encodeQuery({ id: 1, name: 'host-0.example', type: 'A' });
/** A listener's queue of connections is not endless, so they come in groups. */
const AT_ONCE = 50;
const TIMEOUT_MS = 10_000;

/** TCP clients that asked once and hold their connection. */
export class TcpCrowd implements TcpCrowdMethods {
  readonly #sockets = new Set<Socket>();

  async open(port: number, count: number): Promise<void> {
    for (let left = count; left > 0; left -= AT_ONCE) {
      const group = Array.from({ length: Math.min(left, AT_ONCE) }, () => this.#join(port));
      await Promise.all(group);
    }
  }

  connected(): number {
    return this.#sockets.size;
  }

  async leave(): Promise<void> {
    const sockets = [...this.#sockets];
    await Promise.all(
      sockets.map(async (socket) => {
        const closed = once(socket, 'close');
        socket.destroy();
        await closed;
      }),
    );
  }

  async #join(port: number): Promise<void> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('end', () => socket.destroy());
    socket.write(frameMessage(QUERY));
    await once(socket, 'data', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    // `connected` shows a later end.
    socket.on('error', () => undefined);
    socket.resume();
  }
}
