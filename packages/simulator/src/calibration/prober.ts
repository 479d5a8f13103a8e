import type * as dgram from 'node:dgram';
import type * as http from 'node:http';
import type * as net from 'node:net';
import { decodeMessage, encodeQuery } from '@kube-dns/testkit';
import { watchReadiness } from '../cluster/kubelet.js';

/** Gives a built-in module by its name. */
type Load = (module: string) => unknown;

export interface Target {
  readonly address: string;
  readonly port: number;
}

export interface Question {
  readonly server: Target;
  readonly name: string;
  /** Name of a socket that is used again, and by that of its port; a new one for each question unless given. */
  readonly socket?: string;
  /** Whether the socket is connected: only then its program learns of ICMP messages. */
  readonly isConnected?: boolean;
  readonly limitMs: number;
}

/** What became of something: a text that says it, or the code of an error, or `nothing` until the limit; and how long that took. */
export interface Seen {
  readonly text: string;
  readonly ms: number;
  /** Who answered, as the socket says it. */
  readonly from: string;
}

/** Something that happened at a connection, at a time of the clock of the prober. */
export interface StreamEvent {
  readonly text: string;
  readonly atMs: number;
}

/** The methods of a prober on a host, called from elsewhere. */
export interface ProberMethods {
  /** Milliseconds of a clock that all hosts share. */
  clock(): number;
  ask(question: Question): Promise<Seen>;
  /** Asks for `0.NAME`, `1.NAME` and so on, one each 20 ms. */
  askMany(question: Question, count: number): Promise<Seen[]>;
  /** Asks each 20 ms until the answer is this text; the clock when it came. */
  askUntil(question: Question, text: string): Promise<number>;
  /** Opens a TCP connection. */
  connect(name: string, target: Target, limitMs: number): Promise<Seen>;
  /** Writes to it; the clock when it did. */
  write(name: string, text: string): number;
  /** Accepts connections. */
  listen(port: number): Promise<void>;
  /** What arrived at accepted connections. */
  arrived(): StreamEvent[];
  request(method: string, url: string, body?: object): Promise<number>;
  /** From now on probes a pod as the kubelet does. */
  watch(address: string): void;
  /** When the pod became ready (`ready`) or not (`not ready`). */
  readiness(): StreamEvent[];
}

const EVERY_MS = 20;
const LIMIT_MS = 60_000;
const IDS = 0x1_0000;

/** What a client and a server see of the network: a program that runs in the simulator and on real hosts alike. */
export class Prober implements ProberMethods {
  readonly #load: Load;
  readonly #dgram: typeof dgram;
  readonly #net: typeof net;
  readonly #timers: typeof globalThis;
  readonly #sockets = new Map<string, dgram.Socket>();
  readonly #connections = new Map<string, net.Socket>();
  readonly #arrived: StreamEvent[] = [];
  readonly #readiness: StreamEvent[] = [];
  #nextId = 1;

  constructor(load: Load = (module) => process.getBuiltinModule(module)) {
    this.#load = load;
    this.#dgram = load('dgram') as typeof dgram;
    this.#net = load('net') as typeof net;
    this.#timers = load('timers') as typeof globalThis;
  }

  clock(): number {
    const { hrtime } = this.#load('process') as NodeJS.Process;
    return Number(hrtime.bigint()) / 1e6;
  }

  async ask(question: Question): Promise<Seen> {
    const { server, name, limitMs, isConnected = false } = question;
    const socket = await this.#socket(question);
    const id = (this.#nextId = (this.#nextId + 1) % IDS);
    const query = encodeQuery({ name, type: 'A', id });
    const startMs = this.clock();
    return new Promise((resolve) => {
      const end = (text: string, from = '') => {
        this.#timers.clearTimeout(timer);
        socket.off('message', onMessage).off('error', onError);
        if (question.socket === undefined) socket.on('error', () => undefined).close();
        resolve({ text, from, ms: this.clock() - startMs });
      };
      const onMessage = (bytes: Buffer, { address }: dgram.RemoteInfo) => {
        const { id: answered, texts, rcode } = decodeMessage(bytes);
        if (answered === id) end(texts.join(',') || rcode, address);
      };
      const onError = (error: NodeJS.ErrnoException) => end(error.code ?? error.message);
      const timer = this.#timers.setTimeout(() => end('nothing'), limitMs);
      socket.on('message', onMessage).on('error', onError);
      if (isConnected) socket.send(query);
      else socket.send(query, server.port, server.address);
    });
  }

  async askMany(question: Question, count: number): Promise<Seen[]> {
    const asked: Promise<Seen>[] = [];
    for (let i = 0; i < count; i++) {
      asked.push(this.ask({ ...question, name: `${i}.${question.name}` }));
      await this.#sleep(EVERY_MS);
    }
    return Promise.all(asked);
  }

  async askUntil(question: Question, text: string): Promise<number> {
    const endMs = this.clock() + LIMIT_MS;
    while (this.clock() < endMs) {
      if ((await this.ask(question)).text === text) return this.clock();
      await this.#sleep(EVERY_MS);
    }
    throw new Error(`no answer ${text} to ${question.name}`);
  }

  connect(name: string, { address, port }: Target, limitMs: number): Promise<Seen> {
    const startMs = this.clock();
    return new Promise((resolve) => {
      const end = (text: string) => {
        this.#timers.clearTimeout(timer);
        resolve({ text, from: connection.remoteAddress ?? '', ms: this.clock() - startMs });
      };
      const timer = this.#timers.setTimeout(() => end('nothing'), limitMs);
      const connection = this.#net.connect({ host: address, port, noDelay: true });
      this.#connections.set(name, connection);
      connection.on('connect', () => end('connected'));
      connection.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
    });
  }

  write(name: string, text: string): number {
    this.#connections.get(name)!.write(text);
    return this.clock();
  }

  listen(port: number): Promise<void> {
    const server = this.#net.createServer((connection) => {
      connection.on('error', () => undefined);
      connection.on('data', (bytes) =>
        this.#arrived.push({ text: bytes.toString(), atMs: this.clock() }),
      );
    });
    return new Promise((resolve) => server.listen(port, '0.0.0.0', resolve));
  }

  arrived(): StreamEvent[] {
    return this.#arrived;
  }

  request(method: string, url: string, body?: object): Promise<number> {
    const { request } = this.#load('http') as typeof http;
    const { hostname: host, port, pathname: path } = new URL(url);
    return new Promise((resolve) => {
      const headers = { 'content-type': 'application/json' };
      const outgoing = request({ host, port, path, method, headers, agent: false }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      outgoing.on('error', () => resolve(0));
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  watch(address: string): void {
    watchReadiness(
      this.#load,
      () => [address],
      (ready) =>
        this.#readiness.push({
          text: ready.length > 0 ? 'ready' : 'not ready',
          atMs: this.clock(),
        }),
    );
  }

  readiness(): StreamEvent[] {
    return this.#readiness;
  }

  async #socket({ server, socket: name, isConnected = false }: Question): Promise<dgram.Socket> {
    const known = name === undefined ? undefined : this.#sockets.get(name);
    if (known !== undefined) return known;
    const socket = this.#dgram.createSocket('udp4');
    if (name !== undefined) this.#sockets.set(name, socket);
    if (isConnected) {
      await new Promise<void>((resolve) => {
        socket.connect(server.port, server.address, resolve);
      });
    }
    return socket;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#timers.setTimeout(resolve, ms));
  }
}
