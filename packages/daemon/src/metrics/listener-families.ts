import type { Listener, ListenerCounters } from '@kube-dns/transport';
import { RCODE_NAMES } from '@kube-dns/wire';

import {
  counter,
  gauge,
  type LabelledValue,
  type MetricDescription,
  type MetricFamily,
} from './metric-family.js';

/** The part of a DNS listener that its metrics need. */
export type CountedListener = Pick<Listener, 'engine' | 'counters'>;

/** How a program names and describes the metrics of its listeners. */
export interface ListenerMetrics {
  /** By `protocol`. */
  readonly messages: MetricDescription;
  /** By `rcode`. */
  readonly answers: MetricDescription;
  /** By `reason`. */
  readonly refusedMessages: MetricDescription;
  readonly truncated: MetricDescription;
  /** By `result`. */
  readonly cookies: MetricDescription;
  readonly answerFailures: MetricDescription;
  readonly sendErrors: MetricDescription;
  /** By `event`. */
  readonly tcpConnections: MetricDescription;
  readonly openTcpConnections: MetricDescription;
  /** By `engine`. */
  readonly engine: MetricDescription;
}

/** Any code without a name, of an upstream server, is shown as a number. */
const LAST_RCODE = 15;
const FORMERR = 1;
const NOTIMP = 4;

/** The metrics of all listeners of a program together; `listeners` may be empty at first. */
export function listenerFamilies(
  metrics: ListenerMetrics,
  listeners: () => readonly CountedListener[],
): MetricFamily[] {
  const sum = (read: (counts: ListenerCounters) => number) => () =>
    listeners().reduce((total, { counters }) => total + read(counters), 0);
  const labelled =
    (label: string, parts: Readonly<Record<string, (counts: ListenerCounters) => number>>) =>
    (): LabelledValue[] =>
      Object.entries(parts).map(([key, read]) => ({
        labels: { [label]: key },
        value: sum(read)(),
      }));
  return [
    counter(
      metrics.messages,
      labelled('protocol', { udp: (c) => c.udpQueries, tcp: (c) => c.tcpQueries }),
    ),
    counter(metrics.answers, () => answersByRcode(sum)),
    counter(
      metrics.refusedMessages,
      labelled('reason', {
        formerr: (c) => c.formErrors,
        notimp: (c) => c.notImplemented,
        badvers: (c) => c.badVersions,
        badcookie: (c) => c.badCookies,
        nocookie: (c) => c.cookieless,
        dropped: (c) => c.dropped,
      }),
    ),
    counter(
      metrics.truncated,
      sum((c) => c.truncated),
    ),
    counter(
      metrics.cookies,
      labelled('result', {
        good: (c) => c.cookies.good,
        old: (c) => c.cookies.old,
        bad: (c) => c.cookies.bad,
        none: (c) => c.cookies.none,
      }),
    ),
    counter(
      metrics.answerFailures,
      sum((c) => c.failures),
    ),
    counter(
      metrics.sendErrors,
      sum((c) => c.sendErrors),
    ),
    counter(
      metrics.tcpConnections,
      labelled('event', {
        accepted: (c) => c.tcpConnections,
        refused: (c) => c.tcpRefused,
        idle_closed: (c) => c.tcpIdleClosed,
      }),
    ),
    gauge(
      metrics.openTcpConnections,
      sum((c) => c.tcpOpen),
    ),
    gauge(metrics.engine, () =>
      [...new Set(listeners().map(({ engine }) => engine))].map((engine) => ({
        labels: { engine },
        value: 1,
      })),
    ),
  ];
}

/** Every answer that was sent, including refusals of messages that are not queries. */
function* answersByRcode(
  sum: (read: (counts: ListenerCounters) => number) => () => number,
): Generator<LabelledValue> {
  for (let rcode = 0; rcode <= LAST_RCODE; rcode++) {
    const value = sum((counts) => (counts.rcodes[rcode] ?? 0) + refusals(counts, rcode))();
    const name = RCODE_NAMES[rcode];
    // Named codes are shown from the start, so that the first SERVFAIL is an increase.
    if (name !== undefined || value > 0) yield { labels: { rcode: name ?? String(rcode) }, value };
  }
  yield { labels: { rcode: 'BADVERS' }, value: sum(({ badVersions }) => badVersions)() };
  yield { labels: { rcode: 'BADCOOKIE' }, value: sum(({ badCookies }) => badCookies)() };
}

function refusals({ formErrors, notImplemented }: ListenerCounters, rcode: number): number {
  if (rcode === FORMERR) return formErrors;
  return rcode === NOTIMP ? notImplemented : 0;
}
