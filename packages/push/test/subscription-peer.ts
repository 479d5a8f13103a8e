import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { frameMessage, Frames } from '@kube-dns/testkit';
import { type DsoMessage, type DsoTlv, readDso, writeDso } from '@kube-dns/wire';

/** What the other side says to a request: a response, bytes, silence, or it closes the connection. */
type Reaction = DsoMessage | Uint8Array | 'silence' | 'close';

/** A name server over TCP whose sessions a test leads. */
export class SubscriptionPeer {
  readonly requests: DsoMessage[] = [];
  connections = 0;
  readonly #server: Server;
  readonly #sockets: Socket[] = [];

  private constructor(react: (request: DsoMessage) => Reaction) {
    this.#server = createServer((socket) => {
      this.connections++;
      this.#sockets.push(socket);
      const frames = new Frames();
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        for (const message of frames.push(chunk)) {
          const request = readDso(message)!;
          this.requests.push(request);
          const reaction = react(request);
          if (reaction === 'close') socket.destroy();
          else if (reaction !== 'silence') this.#send(socket, reaction);
        }
      });
    });
  }

  static async start(react: (request: DsoMessage) => Reaction): Promise<SubscriptionPeer> {
    const peer = new SubscriptionPeer(react);
    peer.#server.listen(0, '127.0.0.1');
    await once(peer.#server, 'listening');
    return peer;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#sockets.filter(({ destroyed }) => !destroyed).length;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' ? address!.port : 0;
  }

  tell(...tlvs: DsoTlv[]): void {
    this.raw(writeDso({ id: 0, isResponse: false, rcode: 0, tlvs }));
  }

  /** A message for each, in one piece. */
  tellAtOnce(...tlvs: DsoTlv[]): void {
    const messages = tlvs.map((tlv) =>
      frameMessage(writeDso({ id: 0, isResponse: false, rcode: 0, tlvs: [tlv] })),
    );
    this.#sockets.at(-1)!.write(Buffer.concat(messages));
  }

  raw(bytes: Uint8Array): void {
    this.#sockets.at(-1)!.write(frameMessage(bytes));
  }

  /** On every connection that is open. */
  tellAll(...tlvs: DsoTlv[]): void {
    const message = frameMessage(writeDso({ id: 0, isResponse: false, rcode: 0, tlvs }));
    for (const socket of this.#sockets) if (!socket.destroyed) socket.write(message);
  }

  cut(): void {
    this.#sockets.at(-1)!.destroy();
  }

  cutFirst(): void {
    this.#sockets[0]!.destroy();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #send(socket: Socket, reaction: DsoMessage | Uint8Array): void {
    socket.write(frameMessage(reaction instanceof Uint8Array ? reaction : writeDso(reaction)));
  }
}
