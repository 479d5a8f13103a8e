import { isIPv6 } from 'node:net';
import { readUint16, shortIpv6, writeUint16 } from '@kube-dns/wire';
import type { OpenUpstreamPort, Peer, PortOwner, UpstreamPort } from '../udp-engine.js';
import { portsToTry, randomId, type SourcePorts } from '../random-id.js';
import { isResponseTo } from '../reply-match.js';
import type { ServerAddress } from '../server-address.js';
import { type SentDatagram, SentTable } from './sent-table.js';
import type { QuerySocket, ReplyHandler, SentQuery } from './server-sockets.js';

export interface UpstreamSocketOptions {
  readonly openPort: OpenUpstreamPort;
  readonly ports: SourcePorts;
  readonly sourceAddress: string | undefined;
  /** The only server that is asked from here; without one the socket is for all servers of the family. */
  readonly server: ServerAddress | undefined;
  readonly isIpv6: boolean;
  /** Milliseconds on the owner's clock. */
  readonly now: number;
  /** Called when no query is in flight any more. */
  readonly onEmpty: (socket: UpstreamSocket) => void;
}

/** Half of all IDs: a free one is found with the second draw on average at the worst. */
const MAX_IN_FLIGHT = 1 << 15;

/**
 * A UDP socket with many queries in flight. A reply counts only for a query of this socket, to the
 * server that replied, with its ID and its question (RFC 5452 section 9.1).
 */
export class UpstreamSocket implements PortOwner, QuerySocket {
  /** A retired one sends no query; it waits for the replies that may still arrive. */
  isRetired = false;
  usedAtMs: number;
  readonly openedAtMs: number;
  #port: UpstreamPort | undefined;
  readonly #inFlight = new SentTable();
  readonly #onEmpty: (socket: UpstreamSocket) => void;
  readonly #isConnected: boolean;

  private constructor(options: UpstreamSocketOptions) {
    this.#onEmpty = options.onEmpty;
    this.usedAtMs = this.openedAtMs = options.now;
    this.#isConnected = options.server !== undefined;
  }

  /** Undefined when no port is free, or this machine does not have the source address. */
  static open(options: UpstreamSocketOptions): UpstreamSocket | undefined {
    const { openPort, ports, sourceAddress, server, isIpv6 } = options;
    const socket = new UpstreamSocket(options);
    for (const port of portsToTry(ports)) {
      socket.#port = openPort({ port, sourceAddress, server, isIpv6 }, socket);
      if (socket.#port !== undefined) return socket;
    }
    return undefined;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Undefined when too many queries are in flight here. A query that the system does not send is lost. */
  send(query: Buffer, server: ServerAddress, handler: ReplyHandler): SentQuery | undefined {
    if (this.#inFlight.size >= MAX_IN_FLIGHT) return undefined;
    let id = randomId();
    while (this.#inFlight.find(id) !== undefined) id = randomId();
    const sent: SentDatagram = { socket: this, id, query, server, handler, next: undefined };
    this.#inFlight.add(sent);
    this.#write(sent);
    return sent;
  }

  /** Sends a query once more, with the same ID; the message may be another with the same question. */
  resend(sent: SentDatagram, query = sent.query): void {
    if (this.#inFlight.find(sent.id) !== sent) return;
    sent.query = query;
    this.#write(sent);
  }

  /** Waits for no reply to this query any more. */
  forget(sent: SentDatagram): void {
    if (this.#inFlight.remove(sent) && this.#inFlight.size === 0) this.#onEmpty(this);
  }

  onDatagram(reply: Buffer, from: Peer): void {
    if (reply.length < 2) return;
    const sent = this.#inFlight.find(readUint16(reply, 0));
    if (sent === undefined || !isResponseTo(sent.query, reply)) return;
    // A connected socket receives from its server only.
    if (!this.#isConnected && !isFrom(sent.server, from)) return;
    sent.handler.onReply(sent, reply);
  }

  onUnreachable(): void {
    for (const sent of this.#inFlight.all()) sent.handler.onUnreachable(sent);
  }

  close(): void {
    this.#inFlight.clear();
    this.#port?.close();
  }

  #write({ id, query, server }: SentDatagram): void {
    writeUint16(query, 0, id);
    this.#port?.send(query, server);
  }
}

function isFrom(server: ServerAddress, from: Peer): boolean {
  if (from.port !== server.port) return false;
  return from.address === server.address || canonical(from.address) === canonical(server.address);
}

/** One spelling of each address; a scope stays as it is. */
function canonical(text: string): string {
  const [address = '', scope = ''] = text.split('%');
  if (!isIPv6(address)) return text;
  return `${shortIpv6(address)}%${scope}`;
}
