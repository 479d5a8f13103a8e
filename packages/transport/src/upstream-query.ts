import { FLAG, RCODE, RCODE_MASK, readUint16, writeUint16 } from '@kube-dns/wire';
import type { ExchangeError } from './errors.js';
import { type Exchange, exchange } from './exchange.js';
import { randomId } from './random-id.js';
import type { ServerAddress } from './server-address.js';

export interface UpstreamQuery {
  /** The message to ask; it is copied, and each attempt gets its own random ID. */
  readonly query: Uint8Array;
  /** Asked in this order, at least one. */
  readonly servers: readonly ServerAddress[];
  readonly protocol: 'udp' | 'tcp';
  /** For all attempts together. */
  readonly deadlineMs: number;
  /** Told of each attempt: the server, its reply's rcode or the error, and how long it took. */
  readonly onAttempt?: (server: ServerAddress, outcome: number | ExchangeError, ms: number) => void;
}

/**
 * Called once. `reply` has an ID of its own and `server` gave it; without a reply, `error` is that of
 * `server`, the last one asked.
 */
export type UpstreamDone = (
  error: ExchangeError | null,
  reply: Buffer | null,
  server: ServerAddress,
) => void;

/** A lone server that is silent over UDP is asked again: a datagram may be lost. */
const MIN_UDP_ATTEMPTS = 2;

/**
 * Asks name servers in turn until one has an answer. A server that is silent, unreachable, or says
 * SERVFAIL or REFUSED passes the question on to the next; when all did, the last such reply is the
 * answer. A truncated UDP reply is fetched again from the same server over TCP, and stands where no
 * whole one can be had.
 */
export function askUpstream(request: UpstreamQuery, done: UpstreamDone): Exchange {
  return new UpstreamAttempts(request, done);
}

class UpstreamAttempts implements Exchange {
  readonly #request: UpstreamQuery;
  readonly #done: UpstreamDone;
  readonly #query: Buffer;
  readonly #attempts: number;
  readonly #startedAt = performance.now();
  #attempt = 0;
  #current: Exchange | undefined;
  #isCanceled = false;
  /** A reply that is an answer only if nothing better comes. */
  #fallback: { readonly reply: Buffer; readonly server: ServerAddress } | undefined;

  constructor(request: UpstreamQuery, done: UpstreamDone) {
    this.#request = request;
    this.#done = done;
    this.#query = Buffer.from(request.query);
    const least = request.protocol === 'udp' ? MIN_UDP_ATTEMPTS : 1;
    this.#attempts = Math.max(least, request.servers.length);
    this.#ask(request.protocol);
  }

  cancel(): void {
    this.#isCanceled = true;
    this.#current?.cancel();
  }

  #ask(protocol: 'udp' | 'tcp'): void {
    const { servers, onAttempt } = this.#request;
    const server = servers[this.#attempt % servers.length]!;
    const startedAt = performance.now();
    const timeoutMs = Math.ceil(this.#leftMs() / (this.#attempts - this.#attempt));
    writeUint16(this.#query, 0, randomId());
    this.#current = exchange(
      { query: this.#query, server, protocol, timeoutMs },
      (error, reply) => {
        const outcome = error ?? rcodeOf(reply!);
        onAttempt?.(server, outcome, performance.now() - startedAt);
        if (this.#isCanceled) return;
        if (reply === null) this.#giveWay(error, server);
        else this.#take(reply, protocol, server);
      },
    );
  }

  #take(reply: Buffer, protocol: 'udp' | 'tcp', server: ServerAddress): void {
    if (isTruncated(reply) && protocol === 'udp' && this.#leftMs() > 0) {
      this.#keep(reply, server);
      this.#ask('tcp');
      return;
    }
    const rcode = rcodeOf(reply);
    if (rcode === RCODE.SERVFAIL || rcode === RCODE.REFUSED) {
      this.#keep(reply, server);
      this.#giveWay(null, server);
      return;
    }
    this.#done(null, reply, server);
  }

  #giveWay(error: ExchangeError | null, server: ServerAddress): void {
    const { servers, protocol } = this.#request;
    this.#attempt++;
    const isSilent = error?.code === 'timeout';
    const hasNext = this.#attempt < (isSilent ? this.#attempts : servers.length);
    if (hasNext && this.#leftMs() > 0) {
      this.#ask(protocol);
      return;
    }
    if (this.#fallback === undefined) this.#done(error, null, server);
    else this.#done(null, this.#fallback.reply, this.#fallback.server);
  }

  /** A truncated reply is worth more than a refusal: the client learns to ask over TCP itself. */
  #keep(reply: Buffer, server: ServerAddress): void {
    const isBest = this.#fallback !== undefined && isTruncated(this.#fallback.reply);
    if (!isBest) this.#fallback = { reply, server };
  }

  #leftMs(): number {
    return this.#request.deadlineMs - (performance.now() - this.#startedAt);
  }
}

function isTruncated(reply: Buffer): boolean {
  return (readUint16(reply, 2) & FLAG.TC) !== 0;
}

function rcodeOf(reply: Buffer): number {
  return readUint16(reply, 2) & RCODE_MASK;
}
