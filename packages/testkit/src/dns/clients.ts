import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, isIPv6, type Socket } from 'node:net';
import { MeasureError } from '../errors.js';
import type { Closable } from '../owned.js';
import { decodeMessage, encodeQuery, type Message, type Question } from './messages.js';

const LIMIT_MS = 60_000;

/** A queue of received items, in order. */
export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #waiters: { arrive(item: T): void; fail(why: string): void }[] = [];
  #end: string | undefined;

  /** Number of items in the queue. */
  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#items.push(item);
    else waiter.arrive(item);
  }

  /** Nothing arrives any more, for a reason. */
  end(why: string): void {
    this.#end ??= why;
    for (const waiter of this.#waiters.splice(0)) waiter.fail(why);
  }

  /** The next item; rejects with a MeasureError when none arrives within `limitMs`, or at all. */
  next(limitMs = LIMIT_MS): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#end !== undefined) return Promise.reject(new MeasureError(this.#end));
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        clearTimeout(timer);
        reject(new MeasureError(why));
      };
      const arrive = (arrived: T) => {
        clearTimeout(timer);
        resolve(arrived);
      };
      const waiter = { arrive, fail };
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        fail(`nothing arrived within ${limitMs / 1_000} s`);
      }, limitMs);
      this.#waiters.push(waiter);
    });
  }

  async take(count: number): Promise<T[]> {
    const items: T[] = [];
    while (items.length < count) items.push(await this.next());
    return items;
  }
}

/** Enough for a burst of answers, so that the client itself loses none. */
const RECEIVE_BYTES = 4 * 1024 * 1024;

/**
 * A socket connected to one server; it receives from no other. The default address is 127.0.0.1; `from` is the address
 * that it sends from, where the system does not choose it.
 */
export async function connectUdp(
  port: number,
  onMessage: (message: Buffer) => void,
  address = '127.0.0.1',
  from?: string,
): Promise<UdpSocket> {
  const type = isIPv6(address) ? 'udp6' : 'udp4';
  const socket = createSocket({ type, recvBufferSize: RECEIVE_BYTES });
  socket.on('message', onMessage);
  if (from !== undefined) {
    socket.bind(0, from);
    await once(socket, 'listening');
  }
  socket.connect(port, address);
  await once(socket, 'connect');
  // "Connection refused" by a server that has not started: the same as silence.
  socket.on('error', () => undefined);
  return socket;
}

/** Sends and ignores errors. */
export function sendQuietly(socket: UdpSocket, message: Uint8Array): void {
  socket.send(message, () => undefined);
}

const LENGTH_BYTES = 2;
const ID_BYTES = 2;

/** A message as sent over TCP: after its length in two bytes (RFC 1035 section 4.2.2). */
export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(LENGTH_BYTES + message.length);
  frame.writeUInt16BE(message.length);
  frame.set(message, LENGTH_BYTES);
  return frame;
}

/** Reads messages from a stream that arrives in pieces of any size. */
export class Frames {
  #pending = Buffer.alloc(0);

  /** The messages that this piece completes, in order; each is a copy. */
  push(piece: Uint8Array): readonly Buffer[] {
    this.#pending = Buffer.concat([this.#pending, piece]);
    const messages: Buffer[] = [];
    for (let end = this.#firstEnd; end <= this.#pending.length; end = this.#firstEnd) {
      messages.push(Buffer.from(this.#pending.subarray(LENGTH_BYTES, end)));
      this.#pending = this.#pending.subarray(end);
    }
    return messages;
  }

  get #firstEnd(): number {
    if (this.#pending.length < LENGTH_BYTES) return Infinity;
    return LENGTH_BYTES + this.#pending.readUInt16BE();
  }
}

/** A DNS client over UDP on one socket. */
export class UdpClient implements Closable {
  readonly inbox: Inbox<Buffer>;
  readonly #socket: UdpSocket;

  private constructor(socket: UdpSocket, inbox: Inbox<Buffer>) {
    this.#socket = socket;
    this.inbox = inbox;
  }

  /** A client of one port, which sends from the address `from` if given; the default address is 127.0.0.1. */
  static async connect(port: number, address?: string, from?: string): Promise<UdpClient> {
    const inbox = new Inbox<Buffer>();
    const onMessage = (message: Buffer) => inbox.push(message);
    return new UdpClient(await connectUdp(port, onMessage, address, from), inbox);
  }

  send(message: Uint8Array): void {
    sendQuietly(this.#socket, message);
  }

  /** Sends a message and returns the next one received. */
  ask(message: Uint8Array, limitMs?: number): Promise<Buffer> {
    this.send(message);
    return this.inbox.next(limitMs);
  }

  async close(): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }
}

/** A DNS client over TCP on one connection. */
export class TcpClient implements Closable {
  readonly inbox = new Inbox<Buffer>();
  readonly socket: Socket;
  /** Resolves when the server has closed its side or reset the connection. */
  readonly closed: Promise<unknown>;
  /** Whether the server has ended its side. */
  hasEnded = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.on('end', resolve).on('close', resolve));
    void this.closed.then(() => this.inbox.end('the server closed the connection'));
    // A reset connection resolves `closed`.
    socket.on('error', () => undefined);
    socket.on('end', () => (this.hasEnded = true));
  }

  /** Rejects when the server does not accept the connection. */
  static async connect(port: number, address = '127.0.0.1', from?: string): Promise<TcpClient> {
    const client = await TcpClient.connectDeaf(port, address, from);
    client.read();
    return client;
  }

  /** A client that does not read until `read` is called. */
  static async connectDeaf(port: number, address = '127.0.0.1', from?: string): Promise<TcpClient> {
    const source = from === undefined ? {} : { localAddress: from };
    const socket = connect({ host: address, port, ...source, allowHalfOpen: true, noDelay: true });
    await once(socket, 'connect');
    return new TcpClient(socket);
  }

  read(): void {
    const frames = new Frames();
    this.socket.on('data', (piece: Buffer) => {
      for (const message of frames.push(piece)) this.inbox.push(message);
    });
  }

  /** Sends messages in one piece. */
  send(...messages: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(messages.map(frameMessage)));
  }

  /** Sends a message and returns the next one received. */
  ask(message: Uint8Array, limitMs?: number): Promise<Buffer> {
    this.send(message);
    return this.inbox.next(limitMs);
  }

  /** Ends the client's side: no more queries follow. */
  end(): void {
    this.socket.end();
  }

  /** Drops the connection. */
  async close(): Promise<void> {
    if (this.socket.closed) return;
    const closed = once(this.socket, 'close');
    this.socket.destroy();
    await closed;
  }
}

/** The server of a query, and how long to wait for the answer. */
export interface ExchangeOptions {
  /** Default: 127.0.0.1. */
  readonly address?: string;
  readonly isOverTcp?: boolean;
  /** Default: a minute. */
  readonly limitMs?: number;
  /**
   * A message that has an answer, sent behind the first, whose answer is returned only if the first has none. It is sent
   * twice, since answers to messages that arrived together may leave in another order.
   */
  readonly after?: Uint8Array;
}

/**
 * Sends a message from a new port, or on a new connection, and returns the first message received. Rejects
 * after `limitMs`.
 */
export async function exchange(
  port: number,
  message: Uint8Array,
  { address, isOverTcp = false, limitMs, after }: ExchangeOptions = {},
): Promise<Buffer> {
  const client = await (isOverTcp ? TcpClient : UdpClient).connect(port, address);
  try {
    if (after === undefined) return await client.ask(message, limitMs);
    client.send(message);
    const first = await client.ask(after, limitMs);
    const isOfSecond = first.subarray(0, ID_BYTES).equals(after.subarray(0, ID_BYTES));
    return isOfSecond ? await client.ask(after, limitMs) : first;
  } finally {
    await client.close();
  }
}

/** Asks a question, or for the address of a name. */
export async function ask(
  port: number,
  question: Question | string,
  options?: ExchangeOptions,
): Promise<Message> {
  const asked = typeof question === 'string' ? { name: question } : question;
  return decodeMessage(await exchange(port, encodeQuery(asked), options));
}

/** The value of one of dnsmasq's statistics, such as `hits.bind`. */
export async function statistic(port: number, name: string): Promise<number> {
  const { texts } = await ask(port, { name, type: 'TXT', class: 'CH' });
  return Number(texts[0]?.replace('TXT ', ''));
}
