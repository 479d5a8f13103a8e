import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket as TcpSocket } from 'node:net';
import { frameMessage } from '@kube-dns/transport';
import { decodeName, type Query, readUint16 } from '@kube-dns/wire';
import { addressRecords, readQuery, type Response, responseTo } from './messages.js';

/** A query that reached the upstream. */
export interface Asked {
  readonly name: string;
  readonly type: number;
  readonly id: number;
  readonly protocol: 'udp' | 'tcp';
  readonly sourcePort: number;
}

/** A response, or messages to send back in order; null is silence. */
export type Reply = Response | readonly Buffer[] | null;
/** Says what comes back for a query, perhaps later. */
export type Script = (query: Query, asked: Asked) => Reply | Promise<Reply>;

/** A script that answers when it is told to. */
export function held(address: string): { script: Script; release: () => void } {
  const releases: (() => void)[] = [];
  return {
    script: async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return { answers: addressRecords(30, address) };
    },
    release: () => {
      for (const release of releases.splice(0)) release();
    },
  };
}

/** A name server on a free port of 127.0.0.1 that answers by a script and notes what it was asked. */
export class FakeUpstream {
  readonly asked: Asked[] = [];
  script: Script;
  readonly #udp: Socket;
  readonly #tcp: Server;
  readonly #connections = new Set<TcpSocket>();

  private constructor(script: Script, udp: Socket, tcp: Server) {
    this.script = script;
    this.#udp = udp;
    this.#tcp = tcp;
    udp.on('message', (message, peer) => this.#onDatagram(message, peer));
    tcp.on('connection', (socket) => this.#onConnection(socket));
  }

  static async start(script: Script): Promise<FakeUpstream> {
    for (;;) {
      const udp = createSocket('udp4');
      udp.bind(0, '127.0.0.1');
      await once(udp, 'listening');
      const tcp = createServer();
      tcp.listen(udp.address().port, '127.0.0.1');
      try {
        await once(tcp, 'listening');
        return new FakeUpstream(script, udp, tcp);
      } catch {
        udp.close(); // the port is taken for TCP: try another
      }
    }
  }

  get port(): number {
    return this.#udp.address().port;
  }

  /** As `--server` has it. */
  get text(): string {
    return `127.0.0.1#${this.port}`;
  }

  /** The names that were asked for, in order. */
  get names(): string[] {
    return this.asked.map(({ name }) => name);
  }

  async close(): Promise<void> {
    for (const socket of this.#connections) socket.destroy();
    const closed = [once(this.#udp, 'close'), once(this.#tcp, 'close')];
    this.#udp.close();
    this.#tcp.close();
    await Promise.all(closed);
  }

  #onDatagram(message: Buffer, peer: RemoteInfo): void {
    void this.#replies(message, 'udp', peer.port).then((replies) => {
      for (const reply of replies) this.#udp.send(reply, peer.port, peer.address);
    });
  }

  #onConnection(socket: TcpSocket): void {
    this.#connections.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#connections.delete(socket));
    let pending = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= 2 && pending.length >= 2 + readUint16(pending, 0)) {
        const end = 2 + readUint16(pending, 0);
        const message = pending.subarray(2, end);
        pending = pending.subarray(end);
        void this.#replies(message, 'tcp', socket.remotePort ?? 0).then((replies) => {
          for (const reply of replies) socket.write(frameMessage(reply));
        });
      }
    });
  }

  async #replies(
    message: Buffer,
    protocol: 'udp' | 'tcp',
    sourcePort: number,
  ): Promise<readonly Buffer[]> {
    const query = readQuery(message, protocol === 'tcp');
    const name = decodeName(query.name);
    const asked = { name, type: query.type, id: query.id, protocol, sourcePort };
    this.asked.push(asked);
    const reply = await this.script(query, asked);
    if (reply === null) return [];
    return isMessages(reply) ? reply : [responseTo(query, reply)];
  }
}

function isMessages(reply: Response | readonly Buffer[]): reply is readonly Buffer[] {
  return Array.isArray(reply);
}
