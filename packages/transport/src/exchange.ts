import { createSocket } from 'node:dgram';
import { isIPv6, Socket } from 'node:net';
import { ExchangeError, type ExchangeErrorCode } from './errors.js';
import { frameMessage, FrameReader } from './frame-reader.js';
import { isReplyTo } from './reply-match.js';
import { type ServerAddress, serverText } from './server-address.js';

export interface ExchangeRequest {
  /** The whole message, sent as it is. Its ID should be random: see randomId. */
  readonly query: Uint8Array;
  readonly server: ServerAddress;
  readonly protocol: 'udp' | 'tcp';
  /** The address of this machine that a connection over TCP comes from; the system chooses by default. */
  readonly sourceAddress?: string | undefined;
  readonly timeoutMs: number;
  /** Which messages are the reply; those with its ID and question unless given. */
  readonly isReply?: typeof isReplyTo;
}

/** Called exactly once, never before `exchange` has returned. */
export type ExchangeDone = (error: ExchangeError | null, reply: Buffer | null) => void;

/** An exchange in progress. */
export interface Exchange {
  /** Ends it without a call back. */
  cancel(): void;
}

const CODES: Readonly<Record<string, ExchangeErrorCode>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
};

/**
 * Sends one query to one server and waits for its reply, on a fresh connected socket: the port is
 * random, and the system drops datagrams from other sources. A UDP datagram that is not the reply (other
 * ID or question) is ignored; over TCP it is an error.
 */
export function exchange(request: ExchangeRequest, done: ExchangeDone): Exchange {
  return request.protocol === 'udp' ? exchangeUdp(request, done) : exchangeTcp(request, done);
}

/** One outcome, whichever comes first: reply, error or time-out; then the socket is closed. */
class Outcome {
  readonly #request: ExchangeRequest;
  readonly #done: ExchangeDone;
  readonly #close: () => void;
  readonly #timer: NodeJS.Timeout;
  #isSettled = false;

  constructor(request: ExchangeRequest, done: ExchangeDone, close: () => void) {
    this.#request = request;
    this.#done = done;
    this.#close = close;
    this.#timer = setTimeout(
      () => this.fail('timeout', `no reply within ${request.timeoutMs} ms`),
      request.timeoutMs,
    );
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  succeed(reply: Buffer): void {
    if (this.settle()) this.#done(null, reply);
  }

  fail(code: ExchangeErrorCode, reason: string, cause?: unknown): void {
    const { protocol, server } = this.#request;
    const message = `${serverText(server)} over ${protocol}: ${reason}`;
    if (this.settle()) this.#done(new ExchangeError(code, message, { cause }), null);
  }

  failWith(error: NodeJS.ErrnoException): void {
    const code = CODES[error.code ?? ''] ?? 'unreachable';
    const reason = code === 'refused' ? 'connection refused' : error.message;
    this.fail(code, reason, error);
  }

  /** Closes everything; false when it was already settled. */
  settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#close();
    return true;
  }
}

function exchangeUdp(request: ExchangeRequest, done: ExchangeDone): Exchange {
  const { query, server, isReply = isReplyTo } = request;
  const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
  const outcome = new Outcome(request, done, () => socket.close());
  socket.on('error', (error) => outcome.failWith(error));
  socket.on('message', (reply) => {
    if (isReply(query, reply)) outcome.succeed(reply);
  });
  // Not as a callback of connect(): Node calls that, unconnected, when the address has no route.
  socket.on('connect', () => {
    if (outcome.isSettled) return;
    socket.send(query, (error) => {
      if (error) outcome.failWith(error);
    });
  });
  socket.connect(server.port, server.address);
  return { cancel: () => void outcome.settle() };
}

function exchangeTcp(request: ExchangeRequest, done: ExchangeDone): Exchange {
  const { query, server, sourceAddress, isReply = isReplyTo } = request;
  const socket = new Socket().setNoDelay();
  const outcome = new Outcome(request, done, () => socket.destroy());
  const frames = new FrameReader();
  socket.on('error', (error) => outcome.failWith(error));
  socket.on('connect', () => socket.write(frameMessage(query, query.length)));
  socket.on('data', (chunk) => {
    frames.push(chunk);
    const reply = frames.next();
    if (reply === undefined) return;
    if (isReply(query, reply)) outcome.succeed(reply);
    else outcome.fail('malformed', 'the reply does not match the query');
  });
  socket.on('end', () => outcome.fail('closed', 'connection closed before the reply'));
  const source = sourceAddress === undefined ? {} : { localAddress: sourceAddress };
  try {
    socket.connect({ host: server.address, port: server.port, ...source });
  } catch (error) {
    // The source is no address.
    setImmediate(() => outcome.failWith(error as Error));
  }
  return { cancel: () => void outcome.settle() };
}
