import { describe, expect, it } from '@jest/globals';
import { ListenerCounters } from '@kube-dns/transport';

import { renderFamilies } from './exposition.js';
import { type CountedListener, listenerFamilies } from './listener-families.js';

const named = (name: string, ...labelNames: string[]) => ({ name, help: 'H.', labelNames });

const METRICS = {
  messages: named('messages', 'protocol'),
  answers: named('answers', 'rcode'),
  refusedMessages: named('refused', 'reason'),
  truncated: named('truncated'),
  cookies: named('cookies', 'result'),
  answerFailures: named('failures'),
  sendErrors: named('send_errors'),
  tcpConnections: named('tcp', 'event'),
  openTcpConnections: named('tcp_open'),
  engine: named('engine', 'engine'),
};

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
  tcpConnections: 14,
  tcpRefused: 15,
  tcpIdleClosed: 16,
  tcpOpen: 17,
});
const LISTENER: CountedListener = { engine: 'dgram', counters: COUNTS };

/** The lines with values. */
async function scrape(...listeners: CountedListener[]): Promise<string[]> {
  const text = await renderFamilies(listenerFamilies(METRICS, () => listeners));
  return text.split('\n').filter((line) => /^[^#]/.test(line));
}

describe('the metrics of listeners', () => {
  it('show what a listener has counted', async () => {
    expect(await scrape(LISTENER)).toEqual([
      'answers{rcode="NOERROR"} 5',
      'answers{rcode="FORMERR"} 7',
      'answers{rcode="SERVFAIL"} 1',
      'answers{rcode="NXDOMAIN"} 2',
      'answers{rcode="NOTIMP"} 8',
      'answers{rcode="REFUSED"} 0',
      'answers{rcode="9"} 3',
      'answers{rcode="BADVERS"} 9',
      'answers{rcode="BADCOOKIE"} 22',
      'cookies{result="good"} 18',
      'cookies{result="old"} 19',
      'cookies{result="bad"} 20',
      'cookies{result="none"} 21',
      'engine{engine="dgram"} 1',
      'failures 12',
      'messages{protocol="udp"} 10',
      'messages{protocol="tcp"} 4',
      'refused{reason="formerr"} 7',
      'refused{reason="notimp"} 8',
      'refused{reason="badvers"} 9',
      'refused{reason="badcookie"} 22',
      'refused{reason="nocookie"} 23',
      'refused{reason="dropped"} 6',
      'send_errors 13',
      'tcp{event="accepted"} 14',
      'tcp{event="refused"} 15',
      'tcp{event="idle_closed"} 16',
      'tcp_open 17',
      'truncated 11',
    ]);
  });

  it('add up several listeners', async () => {
    const lines = await scrape(LISTENER, LISTENER, { ...LISTENER, engine: 'batch' });
    expect(lines).toContain('messages{protocol="udp"} 30');
    expect(lines).toContain('answers{rcode="NXDOMAIN"} 6');
    expect(lines.filter((line) => line.startsWith('engine'))).toEqual([
      'engine{engine="dgram"} 1',
      'engine{engine="batch"} 1',
    ]);
  });

  it('are zero before the first listener', async () => {
    const lines = await scrape();
    expect(lines).toContain('messages{protocol="udp"} 0');
    expect(lines).toContain('tcp_open 0');
    expect(lines.filter((line) => !line.endsWith(' 0'))).toEqual([]);
  });
});
