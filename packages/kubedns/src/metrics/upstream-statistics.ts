import { type CountedNameServer, NameServerHealth } from '@kube-dns/daemon';
import { type ExchangeError, type ServerAddress, serverText } from '@kube-dns/transport';

/** What is known of one server; the number only grows. */
class UpstreamCounts implements CountedNameServer {
  queries = 0;
  readonly health = new NameServerHealth();
}

/** Servers may come and go with a ConfigMap and with addresses of names; beyond so many they share one. */
const MAX_SERVERS = 100;
const OTHERS = 'other';

/** Counts per name server (`ADDRESS#PORT`) how often it was asked and how well it answered. */
export class UpstreamStatistics {
  readonly #byText = new Map<string, UpstreamCounts>();
  /** The objects of one configuration are the same from query to query: no text is made for them. */
  readonly #byServer = new WeakMap<ServerAddress, UpstreamCounts>();

  /** Counts one attempt: the reply's rcode or the error, and how long it took in milliseconds. */
  count(server: ServerAddress, outcome: number | ExchangeError, ms: number): void {
    const counts = this.#byServer.get(server) ?? this.#add(server);
    counts.queries++;
    if (typeof outcome === 'number') counts.health.countReply(outcome, ms);
    else counts.health.countError(outcome.code);
  }

  /** Every server that was asked since the start, with its counts. */
  entries(): IterableIterator<[server: string, counts: CountedNameServer]> {
    return this.#byText.entries();
  }

  #add(server: ServerAddress): UpstreamCounts {
    const own = serverText(server);
    const isRoom = this.#byText.size < MAX_SERVERS || this.#byText.has(own);
    const text = isRoom ? own : OTHERS;
    let counts = this.#byText.get(text);
    if (counts === undefined) this.#byText.set(text, (counts = new UpstreamCounts()));
    this.#byServer.set(server, counts);
    return counts;
  }
}
