import { chooseUdpEngine, ListenerCounters, type UdpEngine } from '@kube-dns/transport';
import { HEADER_BYTES, readUint16, writeUint16 } from '@kube-dns/wire';

type Socket = ReturnType<UdpEngine['createSocket']>;
type Peer = ReturnType<Socket['retain']>;

/** The methods of a relay in its own process. */
export interface RelayMethods {
  /** Serves on a free port of 127.0.0.1 in front of this server. */
  start(address: string, port: number): Promise<{ readonly port: number; readonly engine: string }>;
}

const IDS = 0x1_0000;

/**
 * Passes every query on under another ID, and every reply back, with the best engine there is: two echoes
 * in one server, the least that a forwarder can cost.
 */
export class Relay implements RelayMethods {
  readonly #clients: (Peer | undefined)[] = new Array<Peer | undefined>(IDS).fill(undefined);
  readonly #clientIds = new Uint16Array(IDS);
  #nextId = 0;

  async start(
    address: string,
    port: number,
  ): Promise<{ readonly port: number; readonly engine: string }> {
    const { engine } = await chooseUdpEngine('auto');
    const socket = engine.createSocket(new ListenerCounters());
    const server = { address, port };
    const options = { port: 0, sourceAddress: undefined, server, isIpv6: false };
    const upstream = engine.openUpstreamPort(options, {
      onDatagram: (reply) => this.#takeBack(socket, reply),
      onUnreachable: () => undefined,
    });
    await socket.open('127.0.0.1', 0, (bytes, length, peer) => {
      if (length < HEADER_BYTES) return;
      const id = (this.#nextId = (this.#nextId + 1) % IDS);
      const old = this.#clients[id];
      if (old !== undefined) socket.release(old);
      this.#clients[id] = socket.retain(peer);
      this.#clientIds[id] = readUint16(bytes, 0);
      writeUint16(bytes, 0, id);
      upstream?.send(bytes.subarray(0, length), server);
    });
    return { port: socket.port, engine: engine.name };
  }

  #takeBack(socket: Socket, reply: Buffer): void {
    if (reply.length < HEADER_BYTES) return;
    const id = readUint16(reply, 0);
    const client = this.#clients[id];
    if (client === undefined) return;
    this.#clients[id] = undefined;
    writeUint16(reply, 0, this.#clientIds[id]!);
    socket.send(reply, reply.length, client);
    socket.release(client);
  }
}
