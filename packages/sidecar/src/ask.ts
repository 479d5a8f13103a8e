import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { CodedError, formatHostPort, parseHostPort } from '@kube-dns/base';
import { exchange, hasIdOf, randomId } from '@kube-dns/transport';
import {
  type DecodedMessage,
  decodeFirstAnswers,
  encodeQuery,
  QUESTION_OFFSET,
  readUint16,
} from '@kube-dns/wire';

/** One question to one server. */
export interface Question {
  readonly server: Server;
  readonly name: string;
  readonly type: string;
  readonly class: 'IN' | 'CH';
}

/** The original's time-out of a query; here it also covers the look-up of the server's name. */
export const ASK_TIMEOUT_MS = 2_000;
const QUESTION_COUNT_AT = 4;
/** Most bytes of a message over UDP without EDNS (RFC 1035 section 2.3.4). */
const MAX_REPLY_BYTES = 512;
/** One is used; a second one shows that there are too many. */
const MAX_ANSWERS = 2;

/**
 * Asks once over UDP from a new socket, without EDNS and without retransmission, and parses the reply.
 * Rejects when no reply arrives in time, when it is malformed, and when `signal` is aborted.
 */
export async function ask(
  question: Question,
  resolver: HostResolver,
  signal: AbortSignal,
): Promise<DecodedMessage> {
  signal.throwIfAborted();
  const deadline = performance.now() + ASK_TIMEOUT_MS;
  const { server, name, type, class: recordClass } = question;
  const query = encodeQuery({ id: randomId(), name, type, class: recordClass });
  const address = await inTime(resolver.resolve(server.host), server, signal);
  signal.throwIfAborted();
  const timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()));
  const reply = await send(query, { address, port: server.port }, timeoutMs, signal);
  return readReply(reply);
}

/**
 * Parses a reply up to the second answer: ten names that point to one of 127 labels are 100 KiB of
 * strings. Throws when it is malformed, has more than one question, or is larger than a reply without
 * EDNS may be.
 */
export function readReply(reply: Uint8Array): DecodedMessage {
  if (reply.length > MAX_REPLY_BYTES) {
    throw new QueryError(`the reply of ${reply.length} bytes is larger than ${MAX_REPLY_BYTES}`);
  }
  if (reply.length >= QUESTION_OFFSET && readUint16(reply, QUESTION_COUNT_AT) > 1) {
    throw new QueryError('the reply has more than one question');
  }
  return decodeFirstAnswers(reply, MAX_ANSWERS);
}

/** Waits for a look-up as long as for a reply at most, and no longer once it is canceled. */
function inTime(address: Promise<string>, server: Server, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new QueryError(`${formatHostPort(server)}: name not resolved in time`)),
      ASK_TIMEOUT_MS,
    );
    const abort = () => reject(new QueryError('canceled'));
    signal.addEventListener('abort', abort, { once: true });
    void address.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    });
  });
}

function send(
  query: Uint8Array,
  server: { readonly address: string; readonly port: number },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Whatever its question: the original compares the ID alone.
    const request = { query, server, protocol: 'udp', timeoutMs, isReply: hasIdOf } as const;
    const settle = () => signal.removeEventListener('abort', abort);
    const exchanged = exchange(request, (error, reply) => {
      settle();
      if (reply === null) reject(error ?? new QueryError('no reply'));
      else resolve(reply);
    });
    const abort = () => {
      settle();
      exchanged.cancel();
      reject(new QueryError('canceled'));
    };
    signal.addEventListener('abort', abort);
  });
}

/** Finds one address of a host name. */
type Lookup = (host: string) => Promise<string>;

/** IPv4 first: `localhost` is often ::1 before 127.0.0.1, and a server may listen on 127.0.0.1 alone. */
const systemLookup: Lookup = async (host) => (await lookup(host, { order: 'ipv4first' })).address;

/**
 * Resolves host names, again at each call. A look-up cannot be canceled, and while one is slow every
 * probe would start another, so each name has at most one look-up in progress.
 */
export class HostResolver {
  readonly #lookup: Lookup;
  readonly #pending = new Map<string, Promise<string>>();

  constructor(lookup: Lookup = systemLookup) {
    this.#lookup = lookup;
  }

  /** The address of `host`; rejects with a QueryError. An IP literal is its own address. */
  async resolve(host: string): Promise<string> {
    if (isIP(host) !== 0) return host;
    let pending = this.#pending.get(host);
    if (pending === undefined) {
      pending = this.#lookup(host).finally(() => this.#pending.delete(host));
      this.#pending.set(host, pending);
    }
    try {
      return await pending;
    } catch (cause) {
      throw new QueryError(`cannot resolve ${host}`, { cause });
    }
  }
}

/** A server to ask: an IP literal or a host name, and a port. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

const DNS_PORT = 53;
const THIS_MACHINE = '127.0.0.1';

/**
 * Parses `host`, `host:port`, `IPv6`, `[IPv6]` or `[IPv6]:port`; the default port is 53, the default host
 * this machine, as Go dials `:53`. Throws with the reason.
 */
export function parseServer(text: string): Server {
  const { host, port } = parseHostPort(text);
  if (!host.includes(':') && /[^\w.-]/.test(host)) {
    throw new Error(`${JSON.stringify(host)} is not a host`);
  }
  if (port === 0) throw new Error('port 0 is not possible');
  return { host: host === '' ? THIS_MACHINE : host, port: port ?? DNS_PORT };
}

/** A probe or a statistics query without a usable reply. */
export class QueryError extends CodedError {
  constructor(message: string, options?: ErrorOptions) {
    super('query', message, options);
  }
}
