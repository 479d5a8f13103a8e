import { EventEmitter } from 'node:events';
import * as net from 'node:net';
import { Duplex } from 'node:stream';
import type { BoundListener, Resource, RunningProcess, Stream, StreamHandler } from '../host.js';
import { familyOf, unmapped } from '../network.js';
import { StreamEnd } from '../tcp.js';
import { addressToBind, conflict, socketFault } from './bound-socket.js';
import { timersOf } from './timers.js';

/** Takes what arrives in memory of the program, in place of `data` events. */
interface OnRead {
  readonly buffer: Uint8Array;
  /** Returns whether it takes more. */
  readonly callback: (length: number, buffer: Uint8Array) => boolean;
}

interface ConnectOptions {
  readonly host?: string;
  readonly port: number | string;
  readonly localAddress?: string;
  readonly allowHalfOpen?: boolean;
  readonly timeout?: number;
  readonly onread?: OnRead;
}

interface ListenOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly ipv6Only?: boolean | undefined;
  readonly reusePort?: boolean | undefined;
}

/** A client's listening port is in use by so many connections at most; the system has a port for each. */
const BACKLOG = 511;

/** What the simulator itself uses of `node:net`; programs use all of it. */
export interface NetModule {
  connect(...args: unknown[]): SimulatedSocket;
}

/** `node:net` of a machine. */
export function netModule(process: RunningProcess): NetModule {
  class Socket extends SimulatedSocket {
    constructor(options: SocketOptions = {}) {
      super(process, options);
    }
  }
  class Server extends SimulatedServer {
    constructor(...args: unknown[]) {
      super(process, args);
    }
  }
  const connect = (...args: unknown[]) => {
    const options = connectArguments(args);
    const socket = new Socket(options);
    if (options.timeout !== undefined) socket.setTimeout(options.timeout);
    return socket.connect(...args);
  };
  const simulated = {
    ...net,
    Socket,
    Stream: Socket,
    Server,
    connect,
    createConnection: connect,
    createServer: (...args: unknown[]) => new Server(...args),
  };
  return simulated;
}

type SocketOptions = Pick<ConnectOptions, 'allowHalfOpen' | 'onread'>;

/** A TCP socket: Node's stream over one end of a simulated connection. */
export class SimulatedSocket extends Duplex implements StreamHandler, Resource {
  readonly #process: RunningProcess;
  readonly #onRead: OnRead | undefined;
  #end: Stream | undefined;
  #received: Buffer[] = [];
  #wantsBytes = false;
  #hasEnded = false;
  #onDrained: (() => void) | undefined;
  #timeout: { close(): void; refresh(): void } | undefined;
  timeout = 0;
  bytesRead = 0;
  bytesWritten = 0;
  connecting = false;

  constructor(process: RunningProcess, { allowHalfOpen = false, onread }: SocketOptions) {
    super({ allowHalfOpen, decodeStrings: true });
    this.#process = process;
    this.#onRead = onread;
    this.#wantsBytes = onread !== undefined;
    process.own(this);
  }

  /** The server's end of a connection that a client opened. */
  accept(end: Stream): this {
    this.#end = end;
    end.handler = this;
    return this;
  }

  connect(...args: unknown[]): this {
    const { host = 'localhost', port, localAddress } = connectArguments(args);
    const done = args.at(-1);
    if (typeof done === 'function') this.once('connect', done as () => void);
    const { machine } = this.#process;
    const address = host === 'localhost' ? '127.0.0.1' : unmapped(host);
    const remote = { address, port: Number(port) };
    this.connecting = true;
    if (net.isIP(remote.address) === 0) {
      this.#process.schedule(0, () =>
        this.destroy(socketFault('ENOTFOUND', 'getaddrinfo', remote)),
      );
      return this;
    }
    const source = localAddress ?? machine.sourceFor(remote.address);
    this.#end = StreamEnd.connect(
      this.#process,
      { address: source, port: machine.ephemeralPort() },
      remote,
    );
    this.#end.handler = this;
    return this;
  }

  onConnected(): void {
    if (this.destroyed) return;
    this.connecting = false;
    this.#touch();
    this.emit('connect');
    this.emit('ready');
    this.#onDrained?.();
  }

  onBytes(bytes: Buffer): void {
    this.bytesRead += bytes.length;
    this.#touch();
    this.#received.push(bytes);
    this.#give();
  }

  onEnd(): void {
    this.#hasEnded = true;
    this.#give();
  }

  onFailure(code: string): void {
    this.destroy(socketFault(code, this.connecting ? 'connect' : 'read', this.#end?.remote));
  }

  onDrained(): void {
    this.#onDrained?.();
  }

  override _read(): void {
    this.#wantsBytes = true;
    this.#give();
  }

  override resume(): this {
    super.resume();
    this.#give();
    return this;
  }

  #give(): void {
    while (this.#wantsBytes && this.#received.length > 0 && !this.#isHeld) {
      const bytes = this.#received.shift()!;
      this.#end!.consumed(bytes.length);
      this.#wantsBytes = this.#onRead === undefined ? this.push(bytes) : this.#put(bytes);
    }
    if (this.#wantsBytes && this.#hasEnded && this.#received.length === 0) {
      this.#wantsBytes = false;
      this.push(null);
      if (this.#onRead !== undefined) this.read(0);
    }
  }

  /** Bytes that go past the stream are not held by it while it is paused, nor dropped once it is destroyed. */
  get #isHeld(): boolean {
    return this.#onRead !== undefined && (this.isPaused() || this.destroyed);
  }

  #put(bytes: Buffer): boolean {
    const { buffer, callback } = this.#onRead!;
    let takesMore = true;
    for (let at = 0; at < bytes.length; at += buffer.length) {
      const part = bytes.subarray(at, at + buffer.length);
      buffer.set(part);
      takesMore = callback(part.length, buffer);
    }
    return takesMore;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    if (this.connecting) {
      this.#onDrained = () => {
        this.#onDrained = undefined;
        this._write(chunk, _encoding, done);
      };
      return;
    }
    this.bytesWritten += chunk.length;
    this.#touch();
    // The program may use its buffer again once the write is done.
    if (this.#end?.write(Buffer.from(chunk)) !== false) {
      this.#process.schedule(0, done);
      return;
    }
    this.#onDrained = () => {
      this.#onDrained = undefined;
      done();
    };
  }

  override _final(done: () => void): void {
    const finish = () => {
      this.#end?.end();
      this.#process.schedule(0, done);
    };
    if (this.connecting) this.once('connect', finish);
    else finish();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#timeout?.close();
    this.connecting = false;
    this.#close();
    this.#process.disown(this);
    this.#process.schedule(0, () => done(error));
  }

  /** As the kernel does: a reset when there are unread bytes. */
  #close(): void {
    if (this.#received.length > 0) this.#end?.reset();
    else this.#end?.close();
  }

  onProcessEnd(): void {
    this.#close();
    if (this.#end !== undefined) this.#end.handler = undefined;
  }

  /** Emits `timeout` when nothing was read or written for so long. */
  setTimeout(ms: number, onTimeout?: () => void): this {
    this.timeout = ms;
    this.#timeout?.close();
    this.#timeout = undefined;
    if (ms > 0) {
      this.#timeout = timersOf(this.#process).setTimeout(() => this.emit('timeout'), ms);
      if (onTimeout !== undefined) this.once('timeout', onTimeout);
    } else if (onTimeout !== undefined) {
      this.off('timeout', onTimeout);
    }
    return this;
  }

  #touch(): void {
    this.#timeout?.refresh();
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  resetAndDestroy(): this {
    this.#end?.reset();
    return this.destroy();
  }

  get pending(): boolean {
    return this.#end === undefined || this.connecting;
  }

  get readyState(): string {
    if (this.connecting) return 'opening';
    if (this.readable && this.writable) return 'open';
    if (this.readable) return 'readOnly';
    return this.writable ? 'writeOnly' : 'closed';
  }

  get remoteAddress(): string | undefined {
    return this.#end?.remote.address;
  }

  get remotePort(): number | undefined {
    return this.#end?.remote.port;
  }

  get remoteFamily(): string | undefined {
    return this.#end && `IPv${familyOf(this.#end.remote.address)}`;
  }

  get localAddress(): string | undefined {
    return this.#end?.local.address;
  }

  get localPort(): number | undefined {
    return this.#end?.local.port;
  }

  get localFamily(): string | undefined {
    return this.#end && `IPv${familyOf(this.#end.local.address)}`;
  }

  address() {
    return { address: this.localAddress, port: this.localPort, family: this.localFamily };
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** A listening port of a process; each connection gets a socket. */
export class Listener implements BoundListener, Resource {
  readonly process: RunningProcess;
  readonly boundAddress: string;
  readonly isIpv6: boolean;
  readonly takesIpv4: boolean;
  boundPort = 0;
  /** Who gets the connections now: a server may take the port of another. */
  onSocket: (socket: SimulatedSocket) => void;

  /** Throws EADDRINUSE and EADDRNOTAVAIL. */
  constructor(
    process: RunningProcess,
    options: ListenOptions,
    onSocket: (socket: SimulatedSocket) => void,
  ) {
    const { host = '::', port = 0, ipv6Only = false } = options;
    this.process = process;
    this.onSocket = onSocket;
    this.boundAddress = addressToBind(host);
    this.isIpv6 = host.includes(':');
    this.takesIpv4 = this.isIpv6 && !ipv6Only;
    const { machine } = process;
    if (this.boundAddress !== '' && !machine.isOwnAddress(this.boundAddress)) {
      throw socketFault('EADDRNOTAVAIL', 'listen', { address: host, port });
    }
    const bound = machine.bindListener(port, (other) => conflict(this, other));
    if (bound === undefined) throw socketFault('EADDRINUSE', 'listen', { address: host, port });
    this.boundPort = bound;
    machine.addListener(this);
    process.own(this);
  }

  onConnection(end: Stream): void {
    this.onSocket(new SimulatedSocket(this.process, {}).accept(end));
  }

  close(): void {
    this.onProcessEnd();
    this.process.disown(this);
  }

  onProcessEnd(): void {
    this.process.machine.removeListener(this);
  }

  address() {
    return {
      address: this.boundAddress || (this.isIpv6 ? '::' : '0.0.0.0'),
      port: this.boundPort,
      family: this.isIpv6 ? 'IPv6' : 'IPv4',
    };
  }
}

export class SimulatedServer extends EventEmitter {
  readonly #process: RunningProcess;
  readonly #sockets = new Set<SimulatedSocket>();
  #listener: Listener | undefined;
  maxConnections = BACKLOG * 1_000;

  constructor(process: RunningProcess, args: readonly unknown[]) {
    super();
    this.#process = process;
    const onConnection = args.find((arg) => typeof arg === 'function');
    if (onConnection !== undefined) this.on('connection', onConnection as () => void);
  }

  get listening(): boolean {
    return this.#listener !== undefined;
  }

  /** Its port, for a server that listens on it from now on. */
  get listener(): Listener | undefined {
    return this.#listener;
  }

  listen(...args: unknown[]): this {
    const done = args.at(-1);
    if (typeof done === 'function') this.once('listening', done as () => void);
    try {
      this.#listener = new Listener(this.#process, listenArguments(args), (socket) =>
        this.#onSocket(socket),
      );
    } catch (error) {
      this.#process.schedule(0, () => this.emit('error', error));
      return this;
    }
    this.#process.schedule(0, () => this.emit('listening'));
    return this;
  }

  #onSocket(socket: SimulatedSocket): void {
    if (this.#sockets.size >= this.maxConnections) {
      socket.destroy();
      this.emit('drop');
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#emitClose();
    });
    this.emit('connection', socket);
  }

  close(done?: (error?: Error) => void): this {
    if (done !== undefined) {
      if (this.#listener === undefined)
        this.#process.schedule(0, () => done(socketFault('ERR_SERVER_NOT_RUNNING', 'close'))); // prettier-ignore
      else this.once('close', done);
    }
    if (this.#listener === undefined) return this;
    this.#listener.close();
    this.#listener = undefined;
    this.#emitClose();
    return this;
  }

  #emitClose(): void {
    if (this.#listener !== undefined || this.#sockets.size > 0) return;
    this.#process.schedule(0, () => this.emit('close'));
  }

  address() {
    return this.#listener?.address() ?? null;
  }

  getConnections(done: (error: null, count: number) => void): void {
    this.#process.schedule(0, () => done(null, this.#sockets.size));
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function connectArguments(args: readonly unknown[]): ConnectOptions {
  const [first, second] = args;
  if (typeof first === 'object' && first !== null) {
    return first as ConnectOptions;
  }
  return { port: first as number, ...(typeof second === 'string' && { host: second }) };
}

export function listenArguments(args: readonly unknown[]): ListenOptions {
  const [first, second] = args;
  if (typeof first === 'object' && first !== null) return first;
  return {
    ...(typeof first === 'number' && { port: first }),
    ...(typeof second === 'string' && { host: second }),
  };
}
