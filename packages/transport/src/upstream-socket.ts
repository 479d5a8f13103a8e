import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6, SocketAddress } from 'node:net';
import { readUint16, writeUint16 } from '@kube-dns/wire';
import { noLookup } from './address-lookup.js';
import { randomId } from './random-id.js';
import { isResponseTo } from './reply-match.js';
import type { ServerAddress } from './server-address.js';
import { portsToTry, type SourcePorts } from './source-ports.js';

/** Told what became of the queries that it sent. */
export interface Asker {
  /** A reply from the server that was asked, with the query's ID and question; it is the asker's. */
  onReply(sent: SentQuery, reply: Buffer): void;
  /** The server's machine says that nobody listens there. */
  onUnreachable(sent: SentQuery): void;
}

/** One query that went to one server and can still be answered. */
export interface SentQuery {
  readonly socket: UpstreamSocket;
  readonly id: number;
  /** The message; the ID in it is that of its last sending. */
  readonly query: Buffer;
  readonly server: ServerAddress;
  readonly asker: Asker;
}

export interface UpstreamSocketOptions {
  readonly ports: SourcePorts;
  readonly sourceAddress: string | undefined;
  /** The only server that is asked from here; without one the socket is for all of the family. */
  readonly server: ServerAddress | undefined;
  readonly isIpv6: boolean;
  /** Milliseconds on the owner's clock. */
  readonly now: number;
  /** Called when the last query in flight is gone. */
  readonly onEmpty: (socket: UpstreamSocket) => void;
}

/** A burst of replies while the loop is busy elsewhere has room; the system may give less. */
const RECEIVE_BUFFER_BYTES = 1 << 20;
/** Half of all IDs: a free one is found with the second draw on average at the worst. */
const MAX_IN_FLIGHT = 1 << 15;

/**
 * A UDP socket with many queries in flight. A reply counts only for a query that left from here, to the
 * server that it comes from, with its ID and its question (RFC 5452 section 9.1).
 */
export class UpstreamSocket {
  /** No query leaves from a retired one; it waits for the replies that may still come. */
  isRetired = false;
  usedAtMs: number;
  readonly openedAtMs: number;
  readonly #socket: Socket;
  readonly #inFlight = new Map<number, SentQuery>();
  readonly #onEmpty: (socket: UpstreamSocket) => void;
  readonly #isConnected: boolean;
  #isClosed = false;

  private constructor(socket: Socket, options: UpstreamSocketOptions) {
    this.#socket = socket;
    this.#onEmpty = options.onEmpty;
    this.usedAtMs = this.openedAtMs = options.now;
    this.#isConnected = options.server !== undefined;
    socket.on('message', (reply, peer) => this.#take(reply, peer));
    socket.on('error', () => this.#onError());
  }

  /** Undefined when no port is free, or the source address is not of this machine. */
  static open(options: UpstreamSocketOptions): UpstreamSocket | undefined {
    for (const port of portsToTry(options.ports)) {
      const socket = bind(options, port);
      if (socket !== undefined) return new UpstreamSocket(socket, options);
    }
    return undefined;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Undefined when too many queries are in flight here. What the system does not send is lost. */
  send(query: Buffer, server: ServerAddress, asker: Asker): SentQuery | undefined {
    if (this.#inFlight.size >= MAX_IN_FLIGHT) return undefined;
    let id = randomId();
    while (this.#inFlight.has(id)) id = randomId();
    const sent: SentQuery = { socket: this, id, query, server, asker };
    this.#inFlight.set(id, sent);
    this.#write(sent);
    return sent;
  }

  /** Sends the same datagram once more, with the same ID. */
  resend(sent: SentQuery): void {
    if (this.#inFlight.get(sent.id) === sent) this.#write(sent);
  }

  /** No reply to this one is waited for any more. */
  forget(sent: SentQuery): void {
    if (this.#inFlight.get(sent.id) !== sent) return;
    this.#inFlight.delete(sent.id);
    if (this.#inFlight.size === 0) this.#onEmpty(this);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#inFlight.clear();
    this.#socket.close();
  }

  /** Without a callback: time-outs notice what is lost, and a callback costs a tick per query. */
  #write({ id, query, server }: SentQuery): void {
    if (this.#isClosed) return;
    writeUint16(query, 0, id);
    if (this.#isConnected) this.#socket.send(query);
    else this.#socket.send(query, server.port, server.address);
  }

  #take(reply: Buffer, peer: RemoteInfo): void {
    if (reply.length < 2) return;
    const sent = this.#inFlight.get(readUint16(reply, 0));
    if (sent === undefined || !isResponseTo(sent.query, reply)) return;
    // From a connected socket's other end comes all that it gets.
    if (!this.#isConnected && !isFrom(sent.server, peer)) return;
    sent.asker.onReply(sent, reply);
  }

  #onError(): void {
    if (!this.#isConnected) return;
    for (const sent of [...this.#inFlight.values()]) sent.asker.onUnreachable(sent);
  }
}

/** Bound and, where there is but one server, connected; undefined when the system refuses either. */
function bind(options: UpstreamSocketOptions, port: number): Socket | undefined {
  const { server, sourceAddress, isIpv6 } = options;
  const socket = createSocket({ type: isIpv6 ? 'udp6' : 'udp4', lookup: noLookup });
  let isBroken = false;
  const onError = () => (isBroken = true);
  socket.on('error', onError);
  try {
    socket.bind({ port, exclusive: true, ...(sourceAddress && { address: sourceAddress }) });
    if (server !== undefined) socket.connect(server.port, server.address);
    // Both took effect at once, or these throw.
    socket.address();
    if (server !== undefined) socket.remoteAddress();
    growReceiveBuffer(socket);
  } catch {
    isBroken = true;
  }
  if (!isBroken) {
    socket.off('error', onError);
    return socket;
  }
  closeQuietly(socket);
  return undefined;
}

function closeQuietly(socket: Socket): void {
  try {
    socket.close();
  } catch {
    /* it never was open */
  }
}

function growReceiveBuffer(socket: Socket): void {
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
  } catch {
    /* the default size works too */
  }
}

function isFrom(server: ServerAddress, peer: RemoteInfo): boolean {
  if (peer.port !== server.port) return false;
  return peer.address === server.address || canonical(peer.address) === canonical(server.address);
}

/** One spelling of each address; a scope stands for itself. */
function canonical(text: string): string {
  const [address = '', scope = ''] = text.split('%');
  if (!isIPv6(address)) return text;
  return `${new SocketAddress({ address, family: 'ipv6' }).address}%${scope}`;
}
