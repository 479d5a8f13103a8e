import { type CountedNameServer, NameServerHealth } from '@kube-dns/daemon';
import type { ReplyFlaw, ServerCounter, ServerCounters } from '@kube-dns/transport';

/** What is known of one server; the number only grows. */
class UpstreamCounts implements CountedNameServer, ServerCounter {
  queries = 0;
  readonly health = new NameServerHealth();

  countQuery(): void {
    this.queries++;
  }

  countReply(rcode: number, ms: number): void {
    this.health.countReply(rcode, ms);
  }

  /** One that says so itself is counted by its rcode. */
  countFlaw(flaw: ReplyFlaw): void {
    if (flaw === 'malformed') this.health.countError(flaw);
    else if (flaw === 'lame') this.health.failures.refused++;
  }

  countError(code: string): void {
    this.health.countError(code);
  }
}

/** Servers may come and go with a ConfigMap and with addresses of names; beyond so many they share one. */
const MAX_SERVERS = 100;
const OTHERS = 'other';

/** Counts per name server (`ADDRESS#PORT`) how often it was asked and how well it answered. */
export class UpstreamStatistics implements ServerCounters {
  readonly #byText = new Map<string, UpstreamCounts>();

  /** The counts of one server, to be counted in. */
  of(server: string): UpstreamCounts {
    const isRoom = this.#byText.size < MAX_SERVERS || this.#byText.has(server);
    const text = isRoom ? server : OTHERS;
    let counts = this.#byText.get(text);
    if (counts === undefined) this.#byText.set(text, (counts = new UpstreamCounts()));
    return counts;
  }

  /** What was counted stays, also of servers that are not configured any more. */
  retain(servers: ReadonlySet<string>): void {
    for (const [text, { queries }] of this.#byText) {
      if (queries === 0 && text !== OTHERS && !servers.has(text)) this.#byText.delete(text);
    }
  }

  /** Every server that was asked since the start, with its counts. */
  *entries(): Iterable<[server: string, counts: CountedNameServer]> {
    for (const [text, counts] of this.#byText) if (counts.queries > 0) yield [text, counts];
  }
}
