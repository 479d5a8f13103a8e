import { BucketHistogram } from './bucket-histogram.js';
import {
  counter,
  histogram,
  type LabelledValue,
  type MetricDescription,
  type MetricFamily,
} from './metric-family.js';

/** Why a query to a name server brought no usable reply. */
const FAILURES = ['timeout', 'unreachable', 'malformed', 'servfail', 'refused'] as const;
type Failure = (typeof FAILURES)[number];

/** Upper bounds in seconds, for servers on this machine, in this data centre, far away and silent. */
const LATENCY_BOUNDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
] as const;

/** RFC 1035 section 4.1.1. */
const SERVFAIL = 2;
const REFUSED = 5;

/** Latencies and failures of one name server, counted per reply in numbers that only grow. */
export class NameServerHealth {
  readonly latencySeconds = new BucketHistogram(LATENCY_BOUNDS);
  readonly failures: Record<Failure, number> = {
    timeout: 0,
    unreachable: 0,
    malformed: 0,
    servfail: 0,
    refused: 0,
  };

  /** Counts a reply and its latency in milliseconds; SERVFAIL and REFUSED are also failures. */
  countReply(rcode: number, ms: number): void {
    this.latencySeconds.observe(ms / 1_000);
    if (rcode === SERVFAIL) this.failures.servfail++;
    else if (rcode === REFUSED) this.failures.refused++;
  }

  /** Counts an exchange without a reply, by the code of its error. */
  countError(code: string): void {
    this.failures[code === 'timeout' || code === 'malformed' ? code : 'unreachable']++;
  }
}

/** The part of an upstream server that its metrics need. */
export interface CountedNameServer {
  /** Queries sent to it, each attempt counted. */
  readonly queries: number;
  readonly health: NameServerHealth;
}

/** How a program names and describes the metrics of its upstream servers; each has a label `server`. */
export interface NameServerMetrics {
  readonly queries: MetricDescription;
  readonly latency: MetricDescription;
  /** Also by `reason`. */
  readonly failures: MetricDescription;
}

/** The metrics of the upstream servers that exist at a scrape; `servers` yields each with its name. */
export function nameServerFamilies(
  metrics: NameServerMetrics,
  servers: () => Iterable<readonly [server: string, counts: CountedNameServer]>,
): MetricFamily[] {
  return [
    counter(metrics.queries, () =>
      Array.from(servers(), ([server, { queries }]) => ({ labels: { server }, value: queries })),
    ),
    histogram(metrics.latency, () =>
      Array.from(servers(), ([server, { health }]) => ({
        labels: { server },
        histogram: health.latencySeconds,
      })),
    ),
    counter(metrics.failures, () =>
      Array.from(servers()).flatMap(([server, { health }]) => failuresOf(server, health)),
    ),
  ];
}

function failuresOf(server: string, { failures }: NameServerHealth): LabelledValue[] {
  return FAILURES.map((reason) => ({ labels: { server, reason }, value: failures[reason] }));
}
