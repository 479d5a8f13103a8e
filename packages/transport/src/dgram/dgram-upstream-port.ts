import { createSocket, type Socket } from 'node:dgram';
import { noLookup } from '../address-lookup.js';
import type { ServerAddress } from '../server-address.js';
import type { PortOwner, UpstreamPort, UpstreamPortOptions } from '../upstream-port.js';
import { growReceiveBuffer } from './receive-buffer.js';

const RECEIVE_BUFFER_BYTES = 1 << 20;

/** A UDP port on node:dgram that queries are sent from. */
export class DgramUpstreamPort implements UpstreamPort {
  readonly #socket: Socket;
  readonly #isConnected: boolean;
  #isClosed = false;

  private constructor(socket: Socket, isConnected: boolean, owner: PortOwner) {
    this.#socket = socket;
    this.#isConnected = isConnected;
    socket.on('message', (bytes, from) => owner.onDatagram(bytes, from));
    socket.on('error', () => {
      if (isConnected) owner.onUnreachable();
    });
  }

  /** Binds and, for a single server, connects; undefined when the system refuses either. */
  static open(options: UpstreamPortOptions, owner: PortOwner): DgramUpstreamPort | undefined {
    const { server, sourceAddress, isIpv6, port } = options;
    const socket = createSocket({ type: isIpv6 ? 'udp6' : 'udp4', lookup: noLookup });
    let isBroken = false;
    const onError = () => (isBroken = true);
    socket.on('error', onError);
    try {
      socket.bind({
        port,
        exclusive: true,
        ...(sourceAddress !== undefined && { address: sourceAddress }),
      });
      if (server !== undefined) socket.connect(server.port, server.address);
      // Both have taken effect, or these throw.
      socket.address();
      if (server !== undefined) socket.remoteAddress();
      growReceiveBuffer(socket, RECEIVE_BUFFER_BYTES);
    } catch {
      isBroken = true;
    }
    if (isBroken) {
      closeQuietly(socket);
      return undefined;
    }
    socket.off('error', onError);
    return new DgramUpstreamPort(socket, server !== undefined, owner);
  }

  /** Without a callback: the time-out covers lost queries, and a callback costs a tick per query. */
  send(query: Uint8Array, server: ServerAddress): void {
    if (this.#isClosed) return;
    if (this.#isConnected) this.#socket.send(query);
    else this.#socket.send(query, server.port, server.address);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }
}

function closeQuietly(socket: Socket): void {
  try {
    socket.close();
  } catch {
    /* it was never open */
  }
}
