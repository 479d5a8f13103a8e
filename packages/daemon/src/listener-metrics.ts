import type { LabelledValue, MetricDescription, MetricFamily } from './metric-family.js';

/** What a DNS listener has counted since it was opened. */
export interface ListenerCounts {
  readonly udpQueries: number;
  readonly tcpQueries: number;
  /** Answers by rcode, 0 to 15; the refusals below are none of them. */
  readonly rcodes: ArrayLike<number>;
  readonly dropped: number;
  readonly formErrors: number;
  readonly notImplemented: number;
  readonly badVersions: number;
  readonly truncated: number;
  readonly failures: number;
  readonly sendErrors: number;
  readonly tcpConnections: number;
  readonly tcpRefused: number;
  readonly tcpIdleClosed: number;
  /** How many are open now. */
  readonly tcpOpen: number;
}

/** A DNS listener, as far as its metrics go. */
export interface CountedListener {
  /** The name of what moves its datagrams. */
  readonly engine: string;
  readonly counters: ListenerCounts;
}

/** What a program calls the metrics of its listeners. */
export interface ListenerMetrics {
  /** By `protocol`. */
  readonly messages: MetricDescription;
  /** By `rcode`. */
  readonly answers: MetricDescription;
  /** By `reason`. */
  readonly refusedMessages: MetricDescription;
  readonly truncated: MetricDescription;
  readonly answerFailures: MetricDescription;
  readonly sendErrors: MetricDescription;
  /** By `event`. */
  readonly tcpConnections: MetricDescription;
  readonly openTcpConnections: MetricDescription;
  /** By `engine`. */
  readonly engine: MetricDescription;
}

/** RFC 1035 section 4.1.1; what else an upstream says is shown as its number. */
const RCODE_NAMES = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'] as const;
const LAST_RCODE = 15;
const FORMERR = 1;
const NOTIMP = 4;

/** The metrics of all listeners of a program together; `listeners` may be none at first. */
export function listenerFamilies(
  metrics: ListenerMetrics,
  listeners: () => readonly CountedListener[],
): MetricFamily[] {
  const sum = (read: (counts: ListenerCounts) => number) => () =>
    listeners().reduce((total, { counters }) => total + read(counters), 0);
  const labelled =
    (label: string, parts: Readonly<Record<string, (counts: ListenerCounts) => number>>) =>
    (): LabelledValue[] =>
      Object.entries(parts).map(([key, read]) => ({
        labels: { [label]: key },
        value: sum(read)(),
      }));
  return [
    {
      ...metrics.messages,
      type: 'counter',
      collect: labelled('protocol', { udp: (c) => c.udpQueries, tcp: (c) => c.tcpQueries }),
    },
    { ...metrics.answers, type: 'counter', collect: () => answersByRcode(sum) },
    {
      ...metrics.refusedMessages,
      type: 'counter',
      collect: labelled('reason', {
        formerr: (c) => c.formErrors,
        notimp: (c) => c.notImplemented,
        badvers: (c) => c.badVersions,
        dropped: (c) => c.dropped,
      }),
    },
    { ...metrics.truncated, type: 'counter', collect: sum((c) => c.truncated) },
    { ...metrics.answerFailures, type: 'counter', collect: sum((c) => c.failures) },
    { ...metrics.sendErrors, type: 'counter', collect: sum((c) => c.sendErrors) },
    {
      ...metrics.tcpConnections,
      type: 'counter',
      collect: labelled('event', {
        accepted: (c) => c.tcpConnections,
        refused: (c) => c.tcpRefused,
        idle_closed: (c) => c.tcpIdleClosed,
      }),
    },
    { ...metrics.openTcpConnections, type: 'gauge', collect: sum((c) => c.tcpOpen) },
    {
      ...metrics.engine,
      type: 'gauge',
      collect: () =>
        [...new Set(listeners().map(({ engine }) => engine))].map((engine) => ({
          labels: { engine },
          value: 1,
        })),
    },
  ];
}

/** Every answer that went out, the refusals of what is no query included. */
function* answersByRcode(
  sum: (read: (counts: ListenerCounts) => number) => () => number,
): Generator<LabelledValue> {
  for (let rcode = 0; rcode <= LAST_RCODE; rcode++) {
    const value = sum((counts) => (counts.rcodes[rcode] ?? 0) + refusals(counts, rcode))();
    const name = RCODE_NAMES[rcode];
    // The names are there from the start, so that the first SERVFAIL is an increase.
    if (name !== undefined || value > 0) yield { labels: { rcode: name ?? String(rcode) }, value };
  }
  yield { labels: { rcode: 'BADVERS' }, value: sum(({ badVersions }) => badVersions)() };
}

function refusals({ formErrors, notImplemented }: ListenerCounts, rcode: number): number {
  if (rcode === FORMERR) return formErrors;
  return rcode === NOTIMP ? notImplemented : 0;
}
