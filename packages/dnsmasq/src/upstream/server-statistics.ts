import { type ExchangeError, type ServerAddress, serverText } from '@kube-dns/transport';
import { RCODE } from '@kube-dns/wire';

/** What is known of one server: questions sent, and those it failed. */
export interface ServerCounts {
  readonly queries: number;
  readonly failed: number;
}

const NOTHING: ServerCounts = { queries: 0, failed: 0 };

/** Counts per server, for `servers.bind` and the statistics dump; bounded by the servers configured. */
export class ServerStatistics {
  #counts = new Map<string, ServerCounts>();

  /** Counts for these servers from now on and for no other; what is known of them stays. */
  keep(servers: readonly ServerAddress[]): void {
    const known = this.#counts;
    this.#counts = new Map(
      servers.map(serverText).map((server) => [server, known.get(server) ?? NOTHING]),
    );
  }

  /** Counts one attempt; silence, SERVFAIL and REFUSED are failures. */
  count(server: ServerAddress, outcome: number | ExchangeError): void {
    const text = serverText(server);
    const counts = this.#counts.get(text);
    if (counts === undefined) return;
    const isAnswer = outcome !== RCODE.SERVFAIL && outcome !== RCODE.REFUSED;
    const hasFailed = typeof outcome !== 'number' || !isAnswer;
    this.#counts.set(text, {
      queries: counts.queries + 1,
      failed: counts.failed + (hasFailed ? 1 : 0),
    });
  }

  /** Every server (`ADDRESS#PORT`) with its counts. */
  entries(): IterableIterator<[server: string, counts: ServerCounts]> {
    return this.#counts.entries();
  }
}
