import type {
  EncryptedStatus,
  ForwarderCounters,
  QueryForwarder,
  UpstreamServer,
} from '@kube-dns/transport';
import {
  BucketHistogram,
  by,
  byBoth,
  labelled,
  type MetricFamily,
  type MetricPrefix,
} from './metric-family.js';

/** Why a query to a name server brought no usable reply. */
type Failure =
  'timeout' | 'unreachable' | 'malformed' | 'servfail' | 'refused' | 'certificate' | 'handshake';
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

/** The part of an upstream server that the metrics of its encryption need. */
export interface EncryptedNameServer extends Pick<UpstreamServer, 'text'> {
  readonly encrypted?: EncryptedStatus;
}

/** What the metrics of a forwarder and its upstream servers are read from. */
export interface UpstreamSources {
  readonly forwarder: Pick<QueryForwarder, 'inFlight'> & {
    readonly counters: Pick<ForwarderCounters, 'failures' | 'overflows'>;
  };
  /** The servers that have metrics, each with its name. */
  readonly statistics: { entries(): Iterable<readonly [server: string, CountedNameServer]> };
  /** Those that are configured now. */
  readonly upstreams: {
    readonly all: Iterable<EncryptedNameServer>;
    readonly rejectedReplies: number;
    readonly guessedPorts: number;
  };
}

/** The metrics of the questions in flight, and of the upstream servers that exist at a scrape. */
export function upstreamFamilies(
  { counter, gauge, histogram }: MetricPrefix,
  sources: () => UpstreamSources,
): MetricFamily[] {
  const each = () => Array.from(sources().statistics.entries());
  const encrypted = (key: keyof EncryptedStatus) =>
    by('server', () =>
      Array.from(encryptedByText(sources().upstreams.all), ([text, status]) => [text, status[key]]),
    );
  return [
    gauge(
      'upstream_in_flight',
      'Questions in flight to name servers.',
      () => sources().forwarder.inFlight,
    ),
    counter(
      'upstream_overflows_total',
      'Questions refused because too many were in flight.',
      () => sources().forwarder.counters.overflows,
    ),
    counter(
      'upstream_cookie_rejects_total',
      'Replies of name servers that were not taken because our cookie was missing.',
      () => sources().upstreams.rejectedReplies,
    ),
    counter(
      'upstream_guessed_ports_total',
      'Ports at which a reply had an ID that no question there has, or had: what waited there is asked over TCP.',
      () => sources().upstreams.guessedPorts,
    ),
    counter(
      'upstream_failures_total',
      'Questions that no name server answered.',
      () => sources().forwarder.counters.failures,
    ),
    counter(
      'upstream_server_queries_total',
      'Questions sent to a name server, retransmissions included.',
      by('server', () => each().map(([server, { queries }]) => [server, queries])),
    ),
    histogram(
      'upstream_server_latency_seconds',
      'Time until the reply of a name server, in seconds.',
      labelled(['server'], () =>
        each().map(([server, { health }]) => ({
          labels: { server },
          histogram: health.latencySeconds,
        })),
      ),
    ),
    counter(
      'upstream_server_failures_total',
      'Questions without a usable reply from a name server, by reason.',
      byBoth(['server', 'reason'], () =>
        each().map(([server, { health }]) => [server, health.failures]),
      ),
    ),
    gauge(
      'upstream_server_connections',
      'Open connections to an encrypted name server.',
      encrypted('connections'),
    ),
    counter(
      'upstream_server_handshakes_total',
      'TLS handshakes with an encrypted name server.',
      encrypted('handshakes'),
    ),
    gauge(
      'upstream_server_certificate_end_timestamp_seconds',
      'When the certificate of an encrypted name server ends; 0 before one was accepted.',
      encrypted('certificateEndsAt'),
    ),
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

function isReason(code: string): code is Failure {
  return REASONS.includes(code);
}
