import { readQuery, readUint16 } from '@kube-dns/wire';
import type { UpstreamSocketsOptions } from '../src/forward/sockets.js';
import type { ServerAddress } from '../src/server-address.js';
import type { PortOwner } from '../src/udp-engine.js';

/** A query that was sent. */
export interface DirectQuery {
  readonly query: Buffer;
  readonly server: ServerAddress;
  /** Its name in wire form, as text. */
  readonly name: string;
  readonly id: number;
  /** A number for the port that it came from. */
  readonly port: number;
  readonly owner: PortOwner;
}

/** Servers without sockets: a test delivers what was sent, and has the replies in the same call. */
export class DirectServers {
  readonly sent: DirectQuery[] = [];
  /** What a server replies; null: nothing. */
  script: (query: DirectQuery) => Uint8Array | null;
  readonly engine: NonNullable<UpstreamSocketsOptions['engine']>;
  #delivered = 0;
  #ports = 0;

  constructor(script: DirectServers['script'] = () => null) {
    this.script = script;
    this.engine = {
      openUpstreamPort: (_options, owner) => {
        const port = ++this.#ports;
        return {
          send: (query, server) => this.#note(Buffer.from(query), server, port, owner),
          close: () => undefined,
        };
      },
      sendTogether: (work) => work(),
      batch: 0,
    };
  }

  /** Brings what was sent to the servers, and their replies back. */
  deliver(): void {
    while (this.#delivered < this.sent.length) {
      const query = this.sent[this.#delivered++]!;
      const reply = this.script(query);
      if (reply !== null) this.reply(query, reply);
    }
  }

  /** Brings a reply to where a query came from. */
  reply({ owner, server }: DirectQuery, message: Uint8Array): void {
    owner.onDatagram(Buffer.from(message), server);
  }

  #note(query: Buffer, server: ServerAddress, port: number, owner: PortOwner): void {
    const { name, nameLength } = readQuery(query);
    const text = Buffer.from(name.subarray(0, nameLength)).toString('latin1');
    this.sent.push({ query, server, name: text, id: readUint16(query, 0), port, owner });
  }
}
