import { MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import type { UdpEngine } from '@kube-dns/transport';

type Socket = ReturnType<UdpEngine['createSocket']>;
type Handler = Parameters<Socket['open']>[2];
type PortOwner = Parameters<UdpEngine['openUpstreamPort']>[1];

/** A query that was sent to an upstream server, and the owner of its port. */
export interface SentUpstream {
  readonly query: Buffer;
  readonly owner: PortOwner;
  readonly from: { readonly address: string; readonly port: number };
}

const CLIENT = { address: '127.0.0.1', port: 40_000 };
const CLIENT_ADDRESS = Uint8Array.of(127, 0, 0, 1);

/** Moves datagrams within the process: everything of a listener and of upstream sockets except the system. */
export class MemoryEngine implements UdpEngine {
  readonly name = 'dgram';
  readonly batch = 0;
  /** What the server asked its upstreams and was not taken yet. */
  readonly sent: SentUpstream[] = [];
  /** The answers of the last `deliver`, copied. */
  readonly answers: Buffer[] = [];
  #handler: Handler | undefined;

  createSocket(): Socket {
    return {
      port: 0,
      out: new Uint8Array(MAX_MESSAGE_BYTES),
      open: (_address, _port, onDatagram) => {
        this.#handler = onDatagram;
        return Promise.resolve();
      },
      leavePort: () => undefined,
      send: (bytes, length) => void this.answers.push(Buffer.from(bytes.subarray(0, length))),
      copyAddress: (_peer, to, at) => {
        to.set(CLIENT_ADDRESS, at);
        return CLIENT_ADDRESS.length;
      },
      retain: (peer) => peer,
      release: () => undefined,
      close: () => Promise.resolve(),
    };
  }

  readonly openUpstreamPort: UdpEngine['openUpstreamPort'] = (_options, owner) => ({
    send: (query, server) => {
      this.sent.push({ query: Buffer.from(query), owner, from: server });
    },
    close: () => undefined,
  });

  sendTogether(work: () => void): void {
    work();
  }

  /** A datagram comes from a client. */
  deliver(message: Buffer): void {
    this.answers.length = 0;
    this.#handler?.(message, message.length, CLIENT);
  }
}
