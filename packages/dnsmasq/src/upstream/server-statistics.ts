import { type CountedNameServer, NameServerHealth } from '@kube-dns/daemon';
import type { ReplyFlaw, ServerCounter, ServerCounters } from '@kube-dns/transport';
import { RCODE } from '@kube-dns/wire';

/** What is known of one server; each number only grows. */
export class ServerCounts implements CountedNameServer, ServerCounter {
  /** Queries sent to it, and those of them that were sent again after silence. */
  queries = 0;
  retried = 0;
  /** Its SERVFAILs and REFUSEDs. */
  failed = 0;
  nxdomains = 0;
  replies = 0;
  /** Of all its replies together; `replies` of them. */
  latencyMs = 0;
  /** How its replies spread over time, and why there were none. */
  readonly health = new NameServerHealth();

  countQuery(isRetry: boolean): void {
    this.queries++;
    if (isRetry) this.retried++;
  }

  /** Counts a reply and how long it took; SERVFAIL and REFUSED are failures. */
  countReply(rcode: number, ms: number): void {
    this.replies++;
    this.latencyMs += ms;
    this.health.countReply(rcode, ms);
    if (rcode === RCODE.NXDOMAIN) this.nxdomains++;
    else if (rcode === RCODE.SERVFAIL || rcode === RCODE.REFUSED) this.failed++;
  }

  /** Counts a reply that is no answer; one that says so itself is counted by its rcode. */
  countFlaw(flaw: ReplyFlaw): void {
    if (flaw === 'malformed') this.health.countError(flaw);
    else if (flaw === 'lame') this.health.failures.refused++;
  }

  countError(code: string): void {
    this.health.countError(code);
  }

  /** Of one reply, on average. */
  get meanLatencyMs(): number {
    return this.replies === 0 ? 0 : this.latencyMs / this.replies;
  }
}

/** Counts per server, for `servers.bind` and the statistics dump; bounded by the servers configured. */
export class ServerStatistics implements ServerCounters {
  #counts = new Map<string, ServerCounts>();

  /** Shows these servers (`ADDRESS#PORT`) from now on and no other; what is known of them stays. */
  retain(servers: Iterable<string>): void {
    const known = this.#counts;
    this.#counts = new Map();
    for (const server of servers) {
      this.#counts.set(server, known.get(server) ?? new ServerCounts());
    }
  }

  /** The counts of one server, to be counted in; known ones are those that are shown. */
  of(server: string): ServerCounts {
    let counts = this.#counts.get(server);
    if (counts === undefined) this.#counts.set(server, (counts = new ServerCounts()));
    return counts;
  }

  /** Every server (`ADDRESS#PORT`) with its counts. */
  entries(): IterableIterator<[server: string, counts: ServerCounts]> {
    return this.#counts.entries();
  }
}
