import { EventEmitter } from 'node:events';
import type {
  BoundDatagramSocket,
  BoundSocket,
  Endpoint,
  Resource,
  RunningProcess,
} from '../host.js';
import { familyOf, unmapped } from '../network.js';
import { addressToBind, conflict, socketFault } from './bound-socket.js';

interface SocketOptions {
  readonly type: 'udp4' | 'udp6';
  readonly ipv6Only?: boolean;
  readonly reusePort?: boolean;
}

interface BindOptions {
  readonly address?: string;
  readonly port?: number;
}

type Sent = (error: Error | null, bytes?: number) => void;

/** `node:dgram` of a machine. */
export function datagramModule(process: RunningProcess): object {
  return {
    createSocket: (options: SocketOptions | 'udp4' | 'udp6', onMessage?: () => void) => {
      const socket = new Socket(process, typeof options === 'string' ? { type: options } : options);
      if (onMessage !== undefined) socket.on('message', onMessage);
      return socket;
    },
    Socket,
  };
}

class Socket extends EventEmitter implements BoundDatagramSocket, Resource {
  readonly process: RunningProcess;
  readonly isIpv6: boolean;
  readonly takesIpv4: boolean;
  readonly #reusesPort: boolean;
  boundAddress = '';
  boundPort = 0;
  peer: Endpoint | undefined;
  #isBound = false;
  #isClosed = false;

  constructor(process: RunningProcess, { type, ipv6Only, reusePort }: SocketOptions) {
    super();
    this.process = process;
    this.isIpv6 = type === 'udp6';
    this.takesIpv4 = this.isIpv6 && ipv6Only !== true;
    this.#reusesPort = reusePort === true;
    process.own(this);
  }

  bind(...args: unknown[]): this {
    const { address = '', port = 0 } = bindArguments(args);
    const done = args.at(-1);
    if (typeof done === 'function') this.once('listening', done as () => void);
    this.#bind(address, port);
    return this;
  }

  /** An error is emitted before this returns, as by Node when no name is to be looked up. */
  #bind(address: string, port: number): void {
    const { machine } = this.process;
    const wanted = addressToBind(address);
    if (wanted !== '' && !machine.isOwnAddress(wanted)) {
      this.emit('error', socketFault('EADDRNOTAVAIL', 'bind', { address, port }));
      return;
    }
    const bound = machine.bindDatagram(port, (other) => this.#conflicts(other, wanted));
    if (bound === undefined) {
      this.emit('error', socketFault('EADDRINUSE', 'bind', { address, port }));
      return;
    }
    this.boundAddress = wanted;
    this.boundPort = bound;
    this.#isBound = true;
    machine.addDatagramSocket(this);
    this.process.schedule(0, () => this.emit('listening'));
  }

  #conflicts(other: BoundSocket, boundAddress: string): boolean {
    if (other instanceof Socket && other.#reusesPort && this.#reusesPort) return false;
    const { process, isIpv6, takesIpv4 } = this;
    return conflict({ process, boundAddress, isIpv6, takesIpv4 }, other);
  }

  connect(port: number, address?: string, done?: () => void): void {
    if (!this.#isBound) this.#bind('', 0);
    const target = address ?? (this.isIpv6 ? '::1' : '127.0.0.1');
    this.peer = { address: target, port };
    if (done !== undefined) this.once('connect', done);
    this.process.schedule(0, () => this.emit('connect'));
  }

  disconnect(): void {
    this.peer = undefined;
  }

  send(message: Uint8Array | string, ...args: unknown[]): void {
    if (this.#isClosed) throw Object.assign(new Error('Not running'), { code: 'ERR_SOCKET_DGRAM_NOT_RUNNING' }); // prettier-ignore
    if (!this.#isBound) this.#bind('', 0);
    const done = args.at(-1);
    const { offset, length, port, address } = sendArguments(args);
    const all = Buffer.from(message as string);
    const bytes = offset === undefined ? all : all.subarray(offset, offset + length!);
    const target =
      port === undefined
        ? this.peer
        : { address: unmapped(address ?? (this.isIpv6 ? '::1' : '127.0.0.1')), port };
    if (target === undefined) throw new Error('no peer');
    const { machine } = this.process;
    const source = {
      address: this.boundAddress === '' ? machine.sourceFor(target.address) : this.boundAddress,
      port: this.boundPort,
    };
    const isSent = machine.network.sendDatagram(machine, source, target, Buffer.from(bytes));
    const error = isSent ? null : socketFault('EPERM', 'send', target);
    if (typeof done === 'function')
      this.process.schedule(0, () => (done as Sent)(error, bytes.length));
    else if (error !== null) this.process.schedule(0, () => this.emit('error', error));
  }

  onDatagram(bytes: Buffer, { address, port }: Endpoint): void {
    if (this.#isClosed) return;
    const family = this.isIpv6 ? 'IPv6' : 'IPv4';
    const shown = this.isIpv6 && familyOf(address) === 4 ? `::ffff:${address}` : address;
    this.emit('message', bytes, { address: shown, family, port, size: bytes.length });
  }

  onUnreachable(): void {
    if (!this.#isClosed) this.emit('error', socketFault('ECONNREFUSED', 'recvmsg'));
  }

  close(done?: () => void): this {
    if (this.#isClosed) throw Object.assign(new Error('Not running'), { code: 'ERR_SOCKET_DGRAM_NOT_RUNNING' }); // prettier-ignore
    if (done !== undefined) this.once('close', done);
    this.onProcessEnd();
    this.process.disown(this);
    this.process.schedule(0, () => this.emit('close'));
    return this;
  }

  onProcessEnd(): void {
    this.#isClosed = true;
    if (this.#isBound) this.process.machine.removeDatagramSocket(this);
  }

  address() {
    if (!this.#isBound) throw socketFault('EBADF', 'getsockname');
    const address = this.boundAddress || (this.isIpv6 ? '::' : '0.0.0.0');
    return { address, port: this.boundPort, family: this.isIpv6 ? 'IPv6' : 'IPv4' };
  }

  remoteAddress() {
    if (this.peer === undefined) throw Object.assign(new Error('Not connected'), { code: 'ERR_SOCKET_DGRAM_NOT_CONNECTED' }); // prettier-ignore
    return { ...this.peer, family: this.isIpv6 ? 'IPv6' : 'IPv4' };
  }

  setRecvBufferSize(): void {
    // The network has no full buffers for datagrams.
  }

  setSendBufferSize(): void {
    // As above.
  }

  getRecvBufferSize(): number {
    return 212_992;
  }

  getSendQueueSize(): number {
    return 0;
  }

  getSendQueueCount(): number {
    return 0;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function bindArguments([first, second]: readonly unknown[]): BindOptions {
  if (typeof first === 'object' && first !== null) return first;
  return {
    ...(typeof first === 'number' && { port: first }),
    ...(typeof second === 'string' && { address: second }),
  };
}

/** `send(message, [offset, length,] [port, [address]], [done])`. */
function sendArguments(args: readonly unknown[]): {
  offset?: number;
  length?: number;
  port?: number;
  address?: string;
} {
  const numbers = args.filter((arg) => typeof arg === 'number');
  const address = args.find((arg) => typeof arg === 'string');
  if (numbers.length >= 3) {
    return {
      offset: numbers[0]!,
      length: numbers[1]!,
      port: numbers[2]!,
      ...(address && { address }),
    };
  }
  if (numbers.length === 2) return { offset: numbers[0]!, length: numbers[1]! };
  return {
    ...(numbers.length === 1 && { port: numbers[0]! }),
    ...(address !== undefined && { address }),
  };
}
