import {
  BucketHistogram,
  type CountedNameServer,
  type Log,
  NameServerHealth,
} from '@kube-dns/daemon';
import type { BadReplyReason, ServerCounter, ServerCounters } from '@kube-dns/transport';
import { RCODE } from '@kube-dns/wire';

/** The counters of one server; each number only grows. */
export class ServerCounts implements CountedNameServer, ServerCounter {
  /** Queries sent to it, and the retransmissions among them. */
  queries = 0;
  retried = 0;
  /** Its SERVFAILs and REFUSEDs. */
  failed = 0;
  nxdomains = 0;
  replies = 0;
  /** The sum over all `replies`. */
  latencyMs = 0;
  /** Whether it is used. */
  isUp = true;
  /** The distribution of its latency, and its failures by reason. */
  readonly health = new NameServerHealth();
  /** The latency of replies in seconds by their rcode, where that is counted. */
  readonly byRcode: (BucketHistogram | undefined)[] = [];
  readonly #bounds: readonly number[] | undefined;

  /** `bounds` are those of `byRcode`; without them it stays empty. */
  constructor(bounds?: readonly number[]) {
    this.#bounds = bounds;
  }

  countQuery(isRetry: boolean): void {
    this.queries++;
    if (isRetry) this.retried++;
  }

  /** Counts a reply and how long it took; SERVFAIL and REFUSED are failures. */
  countReply(rcode: number, ms: number): void {
    this.replies++;
    this.latencyMs += ms;
    this.health.countReply(rcode, ms);
    if (this.#bounds !== undefined) {
      (this.byRcode[rcode] ??= new BucketHistogram(this.#bounds)).observe(ms / 1_000);
    }
    if (rcode === RCODE.NXDOMAIN) this.nxdomains++;
    else if (rcode === RCODE.SERVFAIL || rcode === RCODE.REFUSED) this.failed++;
  }

  /** Counts an unusable reply; one with an error rcode is already counted by its rcode. */
  countBadReply(badReply: BadReplyReason): void {
    if (badReply === 'malformed') this.health.countError(badReply);
    else if (badReply === 'lame') this.health.failures.refused++;
  }

  countError(code: string): void {
    this.health.countError(code);
  }

  /** The mean over all replies; 0 without any. */
  get meanLatencyMs(): number {
    return this.replies === 0 ? 0 : this.latencyMs / this.replies;
  }
}

/** Counts per server, for `servers.bind` and the statistics dump; bounded by the servers configured. */
export class ServerStatistics implements ServerCounters {
  #counts = new Map<string, ServerCounts>();
  readonly #bounds: readonly number[] | undefined;

  /** `bounds` are those of latencies by rcode, in seconds, if these are counted. */
  constructor(bounds?: readonly number[]) {
    this.#bounds = bounds;
  }

  /** Lists only these servers (`ADDRESS#PORT`) from now on; their counts stay. */
  retain(servers: Iterable<string>): void {
    const before = this.#counts;
    this.#counts = new Map();
    for (const server of servers) {
      this.#counts.set(server, before.get(server) ?? new ServerCounts(this.#bounds));
    }
  }

  /** The counts of one server, created where there are none. */
  of(server: string): ServerCounts {
    let counts = this.#counts.get(server);
    if (counts === undefined) this.#counts.set(server, (counts = new ServerCounts(this.#bounds)));
    return counts;
  }

  /** Every server (`ADDRESS#PORT`) with its counts. */
  entries(): IterableIterator<[server: string, counts: ServerCounts]> {
    return this.#counts.entries();
  }
}

/** Logs once that a server is down, or up again, and notes it for its metric. */
export function noteHealth(
  { text, health }: { readonly text: string; readonly health: { readonly isDown: boolean } },
  statistics: Pick<ServerStatistics, 'of'>,
  log: Pick<Log, 'info' | 'warn'>,
): void {
  const { isDown } = health;
  statistics.of(text).isUp = !isDown;
  if (isDown) log.warn(`nameserver ${text} does not reply - not used until it does`);
  else log.info(`nameserver ${text} replies again`);
}
