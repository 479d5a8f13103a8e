import type { EncryptedStatus, UpstreamServer } from '@kube-dns/transport';
import {
  BucketHistogram,
  counter,
  gauge,
  histogram,
  type LabelledValue,
  type MetricDescription,
  type MetricFamily,
} from './metric-family.js';

/** Why a query to a name server brought no usable reply. */
const FAILURES = [
  'timeout',
  'unreachable',
  'malformed',
  'servfail',
  'refused',
  'certificate',
  'handshake',
] as const;
type Failure = (typeof FAILURES)[number];
/** The codes of errors that are reasons; any other is `unreachable`. */
const REASONS: readonly string[] = ['timeout', 'malformed', 'certificate', 'handshake'];

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
    certificate: 0,
    handshake: 0,
  };

  /** Counts a reply and its latency in milliseconds; SERVFAIL and REFUSED are also failures. */
  countReply(rcode: number, ms: number): void {
    this.latencySeconds.observe(ms / 1_000);
    if (rcode === SERVFAIL) this.failures.servfail++;
    else if (rcode === REFUSED) this.failures.refused++;
  }

  /** Counts an exchange without a reply, by the code of its error. */
  countError(code: string): void {
    this.failures[isReason(code) ? code : 'unreachable']++;
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
  /** Of encrypted servers alone. */
  readonly connections: MetricDescription;
  readonly handshakes: MetricDescription;
  readonly certificateEnd: MetricDescription;
}

/** The part of an upstream server that the metrics of its encryption need. */
export type EncryptedNameServer = Pick<UpstreamServer, 'text' | 'encrypted'>;

/**
 * The metrics of the upstream servers that exist at a scrape; `servers` yields each with its name, `connected` those
 * that are configured now.
 */
export function nameServerFamilies(
  metrics: NameServerMetrics,
  servers: () => Iterable<readonly [server: string, counts: CountedNameServer]>,
  connected: () => Iterable<EncryptedNameServer>,
): MetricFamily[] {
  const encrypted = (key: keyof EncryptedStatus) => () =>
    Array.from(encryptedByText(connected()), ([server, status]) => ({
      labels: { server },
      value: status[key],
    }));
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
    gauge(metrics.connections, encrypted('connections')),
    counter(metrics.handshakes, encrypted('handshakes')),
    gauge(metrics.certificateEnd, encrypted('certificateEndsAt')),
  ];
}

/** A server that is asked from several sources is one server, with the certificate that ends first. */
function encryptedByText(servers: Iterable<EncryptedNameServer>): Map<string, EncryptedStatus> {
  const all = new Map<string, EncryptedStatus>();
  for (const { text, encrypted } of servers) {
    if (encrypted === undefined) continue;
    const other = all.get(text);
    const ends = [encrypted, ...(other === undefined ? [] : [other])]
      .map(({ certificateEndsAt }) => certificateEndsAt)
      .filter((end) => end > 0);
    all.set(text, {
      connections: encrypted.connections + (other?.connections ?? 0),
      handshakes: encrypted.handshakes + (other?.handshakes ?? 0),
      certificateEndsAt: ends.length === 0 ? 0 : Math.min(...ends),
    });
  }
  return all;
}

function failuresOf(server: string, { failures }: NameServerHealth): LabelledValue[] {
  return FAILURES.map((reason) => ({ labels: { server, reason }, value: failures[reason] }));
}

function isReason(code: string): code is Failure {
  return REASONS.includes(code);
}
