import { describe, expect, it } from '@jest/globals';
import { ListenerCounters } from '@kube-dns/transport';

import { renderFamilies } from './exposition.js';
import { type CountedListener, listenerFamilies } from './listener-families.js';
import { metricPrefix } from './metric-family.js';

const COUNTS = Object.assign(new ListenerCounters(), {
  udpQueries: 10,
  tcpQueries: 4,
  rcodes: Float64Array.of(5, 0, 1, 2, 0, 0, 0, 0, 0, 3),
  dropped: 6,
  formErrors: 7,
  notImplemented: 8,
  badVersions: 9,
  truncated: 11,
  cookies: { good: 18, old: 19, bad: 20, none: 21 },
  badCookies: 22,
  cookieless: 23,
  failures: 12,
  sendErrors: 13,
  droppedFull: 24,
  droppedLimited: 25,
  droppedOld: 26,
  overloads: 27,
  tcpConnections: 14,
  tcpRefused: 15,
  tcpIdleClosed: 16,
  tcpAgeClosed: 24,
  tcpOpen: 17,
});
const overload = { seconds: 1, arriving: 2, answering: 3, limited: 28, clients: [] };
const LISTENER: CountedListener = { engine: 'dgram', counters: COUNTS, overloads: [overload] };

/** The lines with values. */
async function scrape(...listeners: CountedListener[]): Promise<string[]> {
  const text = await renderFamilies(listenerFamilies(metricPrefix(''), () => listeners));
  return text.split('\n').filter((line) => /^[^#]/.test(line));
}

describe('the metrics of listeners', () => {
  it('show what a listener has counted', async () => {
    expect(await scrape(LISTENER)).toEqual([
      'answer_failures_total 12',
      'answers_total{rcode="NOERROR"} 5',
      'answers_total{rcode="FORMERR"} 7',
      'answers_total{rcode="SERVFAIL"} 1',
      'answers_total{rcode="NXDOMAIN"} 2',
      'answers_total{rcode="NOTIMP"} 8',
      'answers_total{rcode="REFUSED"} 0',
      'answers_total{rcode="9"} 3',
      'answers_total{rcode="BADVERS"} 9',
      'answers_total{rcode="BADCOOKIE"} 22',
      'cookies_total{result="good"} 18',
      'cookies_total{result="old"} 19',
      'cookies_total{result="bad"} 20',
      'cookies_total{result="none"} 21',
      'limited_clients 28',
      'lost_queries_total{reason="full"} 24',
      'lost_queries_total{reason="limited"} 25',
      'lost_queries_total{reason="old"} 26',
      'messages_total{protocol="udp"} 10',
      'messages_total{protocol="tcp"} 4',
      'overloads_total 27',
      'refused_messages_total{reason="formerr"} 7',
      'refused_messages_total{reason="notimp"} 8',
      'refused_messages_total{reason="badvers"} 9',
      'refused_messages_total{reason="badcookie"} 22',
      'refused_messages_total{reason="nocookie"} 23',
      'refused_messages_total{reason="dropped"} 6',
      'send_errors_total 13',
      'tcp_connections_open 17',
      'tcp_connections_total{event="accepted"} 14',
      'tcp_connections_total{event="refused"} 15',
      'tcp_connections_total{event="idle_closed"} 16',
      'tcp_connections_total{event="age_closed"} 24',
      'truncated_answers_total 11',
      'udp_engine_info{engine="dgram"} 1',
    ]);
  });

  it('add up several listeners', async () => {
    const lines = await scrape(LISTENER, LISTENER, { ...LISTENER, engine: 'batch' });
    expect(lines).toContain('messages_total{protocol="udp"} 30');
    expect(lines).toContain('answers_total{rcode="NXDOMAIN"} 6');
    expect(lines.filter((line) => line.startsWith('udp_engine'))).toEqual([
      'udp_engine_info{engine="dgram"} 1',
      'udp_engine_info{engine="batch"} 1',
    ]);
  });

  it('are zero before the first listener', async () => {
    const lines = await scrape();
    expect(lines).toContain('messages_total{protocol="udp"} 0');
    expect(lines).toContain('tcp_connections_open 0');
    expect(lines.filter((line) => !line.endsWith(' 0'))).toEqual([]);
  });
});
