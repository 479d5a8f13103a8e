import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6, type Server, type Socket } from 'node:net';
import type { Closable } from '../owned.js';
import { freePort } from '../process/free-port.js';
import { frameMessage, Frames } from './clients.js';
import {
  addressRecords,
  type AskedQuestion,
  ednsOf,
  encodeReply,
  questionEnd,
  questionOf,
  type Response,
} from './messages.js';

/** An address and a port. */
export interface ServerEndpoint {
  readonly address: string;
  readonly port: number;
}

/** The first label of a probe for a loop, which may be the only one: the root is probed, too. */
const LOOP_LABEL = /^loop-[0-9a-f]{16}(?:\.|$)/;

/** One query at a scripted name server. */
export class NameServerRequest {
  readonly query: Buffer;
  readonly protocol: 'udp' | 'tcp';
  /** Number of queries before this one. */
  readonly count: number;
  readonly peer: ServerEndpoint;
  /** The connection, over TCP. */
  readonly socket: Socket | undefined;
  /** Sends a message to the client, at any time; does nothing once the server or the connection is closed. */
  readonly send: (message: Uint8Array) => void;

  constructor(
    fields: Pick<NameServerRequest, 'query' | 'protocol' | 'count' | 'peer' | 'socket'>,
    send: (message: Uint8Array) => void,
  ) {
    this.query = fields.query;
    this.protocol = fields.protocol;
    this.count = fields.count;
    this.peer = fields.peer;
    this.socket = fields.socket;
    this.send = send;
  }

  /** Throws for a message without a question. */
  get question(): AskedQuestion {
    return questionOf(this.query);
  }

  /** The name of the question in lower case. */
  get name(): string {
    return this.question.name.toLowerCase();
  }

  get type(): string {
    return this.question.type;
  }

  get id(): number {
    return this.query.readUInt16BE(0);
  }

  get isOverTcp(): boolean {
    return this.protocol === 'tcp';
  }

  /** The offset after the question. */
  get questionEnd(): number {
    return questionEnd(this.query);
  }

  /** Whether it looks for a loop. */
  get isProbe(): boolean {
    return this.questionEnd >= 0 && LOOP_LABEL.test(this.name);
  }

  /** Whether the client understands EDNS. */
  get hasEdns(): boolean {
    return ednsOf(this.query) !== undefined;
  }
}

/**
 * The reaction of a name server to a query: a response, complete messages, or silence. A script may also
 * call `send`.
 */
export type ScriptedReply = Response | readonly Uint8Array[] | null | undefined;
export type Script = (request: NameServerRequest) => ScriptedReply | Promise<ScriptedReply>;

/** Where a scripted name server listens. */
export interface NameServerOptions {
  /** Default: 127.0.0.1. */
  readonly address?: string;
  /** Default: a port that no test had before, so that only the programs of its own test ask it. */
  readonly port?: number;
  /** Whether probes for a loop are queries like others. */
  readonly seesProbes?: boolean;
}

const RECEIVE_BYTES = 1024 * 1024;

const HEADER_BYTES = 12;
/** Of DNS Stateful Operations (RFC 8490). */
const DSO_OPCODE = 6;
const NOTIMP = 4;

/** A script that answers with an address when it is released. */
export function heldReply(address: string, ttl = 30): { script: Script; release: () => void } {
  const releases: (() => void)[] = [];
  return {
    script: async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return { answers: addressRecords(ttl, address) };
    },
    release: () => {
      for (const release of releases.splice(0)) release();
    },
  };
}

/**
 * A name server on one port, over UDP and TCP, that answers by a script and records its queries. It announces no changes:
 * requests for them, which are no queries, get NOTIMP. Probes for a loop get no reply and are not recorded: clients here
 * have the address of the server, and so are suspect when they ask the same.
 */
export class ScriptedNameServer implements Closable {
  /** The received queries, the oldest first. */
  readonly requests: NameServerRequest[] = [];
  /** Answers the next query. */
  script: Script;
  readonly address: string;
  readonly #responses = new Map<string, Response>();
  readonly #udp: UdpSocket;
  readonly #tcp: Server;
  readonly #connections = new Set<Socket>();
  readonly #seesProbes: boolean;
  #isClosed = false;

  private constructor(script: Script | undefined, address: string, seesProbes: boolean) {
    const responseTo: Script = ({ name, type }) =>
      this.#responses.get(`${name} ${type}`) ?? { rcode: 'NXDOMAIN' };
    this.script = script ?? responseTo;
    this.#seesProbes = seesProbes;
    this.address = address;
    const type = isIPv6(address) ? 'udp6' : 'udp4';
    this.#udp = createSocket({ type, recvBufferSize: RECEIVE_BYTES });
    this.#tcp = createServer((socket) => this.#accept(socket));
  }

  /**
   * Starts to serve; without a script with what `respond` says. Rejects with the system's error when a given port is in
   * use.
   */
  static async start(
    script?: Script,
    { address = '127.0.0.1', port = 0, seesProbes = false }: NameServerOptions = {},
  ): Promise<ScriptedNameServer> {
    const server = new ScriptedNameServer(script, address, seesProbes);
    try {
      await server.#listen(port || (await freePort()));
      return server;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  get port(): number {
    return this.#udp.address().port;
  }

  /** The address and port of the server. */
  get at(): ServerEndpoint {
    return { address: this.address, port: this.port };
  }

  /** Its address and port in the form of dnsmasq's `--server`. */
  get text(): string {
    return `${this.address}#${this.port}`;
  }

  /** Its address and port in the form of kubedns' `--nameservers`. */
  get hostPort(): string {
    return `${this.address}:${this.port}`;
  }

  /** Sets the response to a question, `name TYPE` with the name in lower case, in place of NXDOMAIN. */
  respond(question: string, response: Response): void {
    this.#responses.set(question, response);
  }

  /** The questions as they came, in order, as `name TYPE`. */
  get asked(): string[] {
    return this.requests.map(({ question: { name, type } }) => `${name} ${type}`);
  }

  /** The names of the questions as they came, in order. */
  get names(): string[] {
    return this.requests.map(({ question }) => question.name);
  }

  /**
   * The same in lower case, each once. A server that takes long to reply, as all do on a busy machine, is probed with a question that
   * it has answered.
   */
  get differentNames(): string[] {
    return [...new Set(this.requests.map(({ name }) => name))];
  }

  /** Sends a datagram without a query. */
  sendTo(peer: ServerEndpoint, message: Uint8Array): void {
    if (!this.#isClosed) this.#udp.send(message, peer.port, peer.address, () => undefined);
  }

  /** Closes all connections and sends nothing afterwards. May be called twice. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const socket of this.#connections) socket.destroy();
    const closed = [once(this.#udp, 'close')];
    this.#udp.close();
    if (this.#tcp.listening) closed.push(once(this.#tcp, 'close'));
    this.#tcp.close();
    await Promise.all(closed);
  }

  async #listen(port: number): Promise<void> {
    this.#udp.bind(port, this.address);
    await once(this.#udp, 'listening');
    this.#udp.on('error', () => undefined);
    this.#udp.on('message', (query, peer) => {
      const send = (message: Uint8Array) => this.sendTo(peer, message);
      this.#take({ query, protocol: 'udp', peer, socket: undefined }, send);
    });
    this.#tcp.listen(this.port, this.address);
    await once(this.#tcp, 'listening');
  }

  #accept(socket: Socket): void {
    const frames = new Frames();
    const peer = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
    this.#connections.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#connections.delete(socket));
    socket.on('data', (piece: Buffer) => {
      const send = (message: Uint8Array) => {
        if (socket.writable) socket.write(frameMessage(message));
      };
      for (const query of frames.push(piece)) {
        this.#take({ query, protocol: 'tcp', peer, socket }, send);
      }
    });
  }

  #take(
    fields: Omit<ConstructorParameters<typeof NameServerRequest>[0], 'count'>,
    send: (message: Uint8Array) => void,
  ): void {
    // A late reply, for the program that had this port before: name servers take no notice of responses.
    if (isResponse(fields.query)) return;
    if (opcodeOf(fields.query) === DSO_OPCODE) {
      send(notImplemented(fields.query));
      return;
    }
    const request = new NameServerRequest({ ...fields, count: this.requests.length }, send);
    if (!this.#seesProbes && request.isProbe) return;
    this.requests.push(request);
    const reply = this.script(request);
    if (isLater(reply)) void reply.then((later) => this.#reply(request, later));
    else this.#reply(request, reply);
  }

  #reply(request: NameServerRequest, reply: ScriptedReply): void {
    if (reply === null || reply === undefined) return;
    const messages = isMessages(reply) ? reply : [encodeReply(request.query, reply)];
    for (const message of messages) request.send(message);
  }
}

/** Not `instanceof`: what Node itself returns inside a test is a promise of another realm. */
function isLater(reply: ReturnType<Script>): reply is Promise<ScriptedReply> {
  return reply !== null && reply !== undefined && 'then' in reply;
}

function isResponse(message: Buffer): boolean {
  return message.length >= HEADER_BYTES && message[2]! >= 0x80;
}

function opcodeOf(message: Buffer): number {
  return message.length < HEADER_BYTES ? 0 : (message[2]! >> 3) & 0x0f;
}

function notImplemented(request: Buffer): Buffer {
  const response = Buffer.alloc(HEADER_BYTES);
  request.copy(response, 0, 0, 3);
  response[2]! |= 0x80;
  response[3] = NOTIMP;
  return response;
}

/** A port of 127.0.0.1 on which no server listens. */
export async function deadServer(): Promise<ServerEndpoint> {
  return { address: '127.0.0.1', port: await freePort() };
}

/** Whether a reply is given as whole messages. */
export function isMessages(
  reply: Response | readonly Uint8Array[],
): reply is readonly Uint8Array[] {
  return Array.isArray(reply);
}

const TTL_SECONDS = 60;

/**
 * The upstream server of a pod under test, on loopback, so that no query leaves the machine. Every name has
 * the address 192.0.2.1, but those below `invalid`, which do not exist (RFC 6761 section 6.4).
 */
export class LoopbackUpstream implements Closable {
  readonly #server: ScriptedNameServer;

  private constructor(server: ScriptedNameServer) {
    this.#server = server;
  }

  static async start(): Promise<LoopbackUpstream> {
    const server = await ScriptedNameServer.start(({ question }) =>
      /(^|\.)invalid$/i.test(question.name)
        ? { rcode: 'NXDOMAIN' }
        : { answers: addressRecords(TTL_SECONDS, '192.0.2.1') },
    );
    return new LoopbackUpstream(server);
  }

  get port(): number {
    return this.#server.port;
  }

  /** From now on no query is answered. */
  mute(): void {
    this.#server.script = () => null;
  }

  /** May be called twice. */
  close(): Promise<void> {
    return this.#server.close();
  }
}
