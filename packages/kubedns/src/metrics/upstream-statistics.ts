import { type CountedNameServer, NameServerHealth } from '@kube-dns/daemon';
import type { BadReplyReason, ServerCounter, ServerCounters } from '@kube-dns/transport';

/** The counts of one server. */
class UpstreamCounts implements CountedNameServer, ServerCounter {
  queries = 0;
  readonly health = new NameServerHealth();

  countQuery(): void {
    this.queries++;
  }

  countReply(rcode: number, ms: number): void {
    this.health.countReply(rcode, ms);
  }

  /** A reply with an error rcode is counted by `countReply`. */
  countBadReply(badReply: BadReplyReason): void {
    if (badReply === 'malformed') this.health.countError(badReply);
    else if (badReply === 'lame') this.health.failures.refused++;
  }

  countError(code: string): void {
    this.health.countError(code);
  }
}

/** ConfigMaps and resolved names may add servers without end; further servers share one entry. */
const MAX_SERVERS = 100;
const OTHERS = 'other';

/** Counts the queries and the replies of each name server (`ADDRESS#PORT`). */
export class UpstreamStatistics implements ServerCounters {
  readonly #byText = new Map<string, UpstreamCounts>();

  /** The counts of one server; the caller increments them. */
  of(server: string): UpstreamCounts {
    const hasSpace = this.#byText.size < MAX_SERVERS || this.#byText.has(server);
    const text = hasSpace ? server : OTHERS;
    let counts = this.#byText.get(text);
    if (counts === undefined) this.#byText.set(text, (counts = new UpstreamCounts()));
    return counts;
  }

  /** Removes servers that are not configured and were never asked; all counts stay. */
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
