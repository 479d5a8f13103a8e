import {
  adaptReply,
  encodeRefusal,
  type Query,
  RCODE,
  type RelayTarget,
  relayTargetOf,
} from '@kube-dns/wire';
import { type Client, NO_ANSWER_YET, type Reply } from './answerer.js';
import type { ExchangeError } from './errors.js';
import type { Exchange } from './exchange.js';
import type { ServerAddress } from './server-address.js';
import { askUpstream } from './upstream-query.js';

export interface ForwarderOptions {
  /** Questions under way at the same time; beyond, REFUSED at once. */
  readonly maxInFlight: number;
  /** The client hears SERVFAIL after so long: less than the 5 s after which it gives up itself. */
  readonly deadlineMs: number;
  readonly onAttempt?: (server: ServerAddress, outcome: number | ExchangeError, ms: number) => void;
}

/** Passes queries on to name servers and their replies back. */
export class Forwarder {
  /** Questions that were passed on, and those refused because too many were under way. */
  forwarded = 0;
  overflows = 0;
  /** Questions that no server answered; the client got SERVFAIL. */
  failures = 0;
  readonly #options: ForwarderOptions;
  readonly #inFlight = new Set<Exchange>();

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /**
   * Passes a query on and answers its client later; never silence. Without servers or without room it
   * writes a refusal into `out` at once. Returns what an Answerer returns. `onReply` sees each reply
   * as it came, before it becomes the client's.
   */
  forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    servers: readonly ServerAddress[],
    onReply?: (reply: Buffer) => void,
  ): number {
    const target = relayTargetOf(query);
    if (servers.length === 0 || this.isFull()) {
      if (servers.length > 0) this.overflows++;
      const refusal = encodeRefusal(target, RCODE.REFUSED);
      out.set(refusal);
      return refusal.length;
    }
    const reply = client.defer();
    this.ask(query.bytes.subarray(0, query.length), query.isOverTcp, servers, (message) => {
      if (message !== null) onReply?.(message);
      this.#relay(message, target, reply);
    });
    return NO_ANSWER_YET;
  }

  /** Tells whether a question more would be one too many. */
  isFull(): boolean {
    return this.#inFlight.size >= this.#options.maxInFlight;
  }

  /** Asks a question of one's own; `done` gets the reply, or null when no server had one. */
  ask(
    query: Uint8Array,
    isOverTcp: boolean,
    servers: readonly ServerAddress[],
    done: (reply: Buffer | null) => void,
  ): void {
    this.forwarded++;
    const { deadlineMs, onAttempt } = this.#options;
    const exchange = askUpstream(
      {
        query,
        servers,
        protocol: isOverTcp ? 'tcp' : 'udp',
        deadlineMs,
        ...(onAttempt && { onAttempt }),
      },
      (_error, reply) => {
        this.#inFlight.delete(exchange);
        if (reply === null) this.failures++;
        done(reply);
      },
    );
    this.#inFlight.add(exchange);
  }

  /** Ends what is under way without answers. */
  close(): void {
    for (const exchange of this.#inFlight) exchange.cancel();
    this.#inFlight.clear();
  }

  #relay(message: Buffer | null, target: RelayTarget, reply: Reply): void {
    const length = message === null ? -1 : adaptReply(message, target);
    if (message !== null && length > 0) {
      reply.send(message, length);
      return;
    }
    const failure = encodeRefusal(target, RCODE.SERVFAIL);
    reply.send(failure, failure.length);
  }
}
