import type { Listener, ListenerCounters } from '@kube-dns/transport';
import { RCODE_NAMES } from '@kube-dns/wire';

import { by, type MetricFamily, type MetricPrefix } from './metric-family.js';

/** The part of a DNS listener that its metrics need. */
export type CountedListener = Pick<Listener, 'engine' | 'counters' | 'overloads'>;

/** Any code without a name, of an upstream server, is shown as a number. */
const LAST_RCODE = 15;
const FORMERR = 1;
const NOTIMP = 4;

type Read = (counts: ListenerCounters) => number;

/** The metrics of all listeners of a program together; `listeners` may be empty at first. */
export function listenerFamilies(
  prefix: MetricPrefix,
  listeners: () => readonly CountedListener[],
): MetricFamily[] {
  const { counter, gauge } = prefix;
  const { sum, sums } = sumsOf(listeners);
  return [
    counter(
      'messages_total',
      'Messages received, valid or not, by protocol.',
      by('protocol', sums({ udp: (c) => c.udpQueries, tcp: (c) => c.tcpQueries })),
    ),
    counter(
      'answers_total',
      'Answers sent, by rcode.',
      by('rcode', () => answersByRcode(sum)),
    ),
    counter(
      'refused_messages_total',
      'Messages not answered as queries, by reason.',
      by(
        'reason',
        sums({
          formerr: (c) => c.formErrors,
          notimp: (c) => c.notImplemented,
          badvers: (c) => c.badVersions,
          badcookie: (c) => c.badCookies,
          nocookie: (c) => c.cookieless,
          dropped: (c) => c.dropped,
        }),
      ),
    ),
    counter(
      'truncated_answers_total',
      'Answers truncated to the size that the client accepts.',
      () => sum((c) => c.truncated),
    ),
    counter(
      'cookies_total',
      'Queries with a COOKIE option, by what their server cookie was.',
      by(
        'result',
        sums({
          good: (c) => c.cookies.good,
          old: (c) => c.cookies.old,
          bad: (c) => c.cookies.bad,
          none: (c) => c.cookies.none,
        }),
      ),
    ),
    counter(
      'answer_failures_total',
      'Questions answered with SERVFAIL because of an internal error.',
      () => sum((c) => c.failures),
    ),
    counter('send_errors_total', 'Answers that could not be sent.', () => sum((c) => c.sendErrors)),
    ...tcpFamilies(prefix, listeners),
    ...overloadFamilies(prefix, listeners),
    gauge(
      'udp_engine_info',
      'The active UDP engine; always 1.',
      by('engine', () => new Map(listeners().map(({ engine }) => [engine, 1]))),
    ),
  ];
}

/** Those of the TCP connections alone. */
export function tcpFamilies(
  { counter, gauge }: Pick<MetricPrefix, 'counter' | 'gauge'>,
  listeners: () => readonly CountedListener[],
): MetricFamily[] {
  const { sum, sums } = sumsOf(listeners);
  return [
    counter(
      'tcp_connections_total',
      'TCP connections, by event.',
      by(
        'event',
        sums({
          accepted: (c) => c.tcpConnections,
          refused: (c) => c.tcpRefused,
          idle_closed: (c) => c.tcpIdleClosed,
          age_closed: (c) => c.tcpAgeClosed,
        }),
      ),
    ),
    gauge('tcp_connections_open', 'Open TCP connections.', () => sum((c) => c.tcpOpen)),
  ];
}

/** What is lost when more arrives over UDP than can be answered; the part of `listenerFamilies` that node-cache has, too. */
export function overloadFamilies(
  { counter, gauge }: MetricPrefix,
  listeners: () => readonly CountedListener[],
): MetricFamily[] {
  const { sum, sums } = sumsOf(listeners);
  return [
    counter(
      'lost_queries_total',
      'Queries over UDP that were dropped unread, by reason.',
      by(
        'reason',
        sums({
          full: (c) => c.droppedFull,
          limited: (c) => c.droppedLimited,
          old: (c) => c.droppedOld,
        }),
      ),
    ),
    counter('overloads_total', 'Times that more queries arrived than could be answered.', () =>
      sum((c) => c.overloads),
    ),
    gauge('limited_clients', 'Clients that get a part of what they ask, in an overload.', () =>
      listeners()
        .flatMap(({ overloads }) => overloads)
        .reduce((total, { limited }) => total + limited, 0),
    ),
  ];
}

function sumsOf(listeners: () => readonly CountedListener[]) {
  const sum = (read: Read) =>
    listeners().reduce((total, { counters }) => total + read(counters), 0);
  const sums = (parts: Readonly<Record<string, Read>>) => () =>
    Object.entries(parts).map(([key, read]) => [key, sum(read)] as const);
  return { sum, sums };
}

/** Every answer that was sent, including refusals of messages that are not queries. */
function* answersByRcode(sum: (read: Read) => number): Generator<readonly [string, number]> {
  for (let rcode = 0; rcode <= LAST_RCODE; rcode++) {
    const value = sum((counts) => (counts.rcodes[rcode] ?? 0) + refusals(counts, rcode));
    const name = RCODE_NAMES[rcode];
    // Named codes are shown from the start, so that the first SERVFAIL is an increase.
    if (name !== undefined || value > 0) yield [name ?? String(rcode), value];
  }
  yield ['BADVERS', sum(({ badVersions }) => badVersions)];
  yield ['BADCOOKIE', sum(({ badCookies }) => badCookies)];
}

function refusals({ formErrors, notImplemented }: ListenerCounters, rcode: number): number {
  if (rcode === FORMERR) return formErrors;
  return rcode === NOTIMP ? notImplemented : 0;
}
