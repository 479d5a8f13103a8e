import { describe, expect, it } from '@jest/globals';

import { renderFamilies } from './exposition.js';
import { metricPrefix } from './metric-family.js';
import {
  type CountedNameServer,
  NameServerHealth,
  upstreamFamilies,
  type UpstreamSources,
} from './name-server-families.js';

const FORWARDER = { inFlight: 0, counters: { overflows: 0, failures: 0 } };

function render(
  entries: Iterable<readonly [string, CountedNameServer]>,
  all: UpstreamSources['upstreams']['all'],
): Promise<string> {
  const sources = {
    forwarder: FORWARDER,
    statistics: { entries: () => entries },
    upstreams: { all, rejectedReplies: 0, guessedPorts: 0 },
  };
  return renderFamilies(upstreamFamilies(metricPrefix(''), () => sources));
}

describe('NameServerHealth', () => {
  it('counts SERVFAIL and REFUSED as failures with a latency', () => {
    const health = new NameServerHealth();
    for (const rcode of [0, 2, 3, 5, 5]) health.countReply(rcode, 20);
    expect(health.failures).toMatchObject({ servfail: 1, refused: 2, timeout: 0 });
    expect(health.latencySeconds.count).toBe(5);
    expect(health.latencySeconds.sum).toBeCloseTo(0.1);
  });

  it.each([
    ['timeout', 'timeout'],
    ['malformed', 'malformed'],
    ['refused', 'unreachable'],
    ['unreachable', 'unreachable'],
    ['closed', 'unreachable'],
    ['certificate', 'certificate'],
    ['handshake', 'handshake'],
  ] as const)('counts the error %s as %s', (code, reason) => {
    const health = new NameServerHealth();
    health.countError(code);
    expect(health.failures[reason]).toBe(1);
    expect(Object.values(health.failures).reduce((sum, count) => sum + count)).toBe(1);
    expect(health.latencySeconds.count).toBe(0);
  });
});

describe('the metrics of name servers', () => {
  it('have a series per server and reason from the start', async () => {
    const health = new NameServerHealth();
    health.countReply(2, 3);
    const text = await render([['10.0.0.1#53', { queries: 4, health }]], [{ text: '10.0.0.1#53' }]);
    expect(text).not.toContain('upstream_server_connections{');
    expect(text).toContain('upstream_server_queries_total{server="10.0.0.1#53"} 4\n');
    expect(text).toContain(
      'upstream_server_latency_seconds_bucket{server="10.0.0.1#53",le="0.0025"} 0\n',
    );
    expect(text).toContain(
      'upstream_server_latency_seconds_bucket{server="10.0.0.1#53",le="0.005"} 1\n',
    );
    expect(text).toContain('upstream_server_latency_seconds_sum{server="10.0.0.1#53"} 0.003\n');
    expect(text.match(/^upstream_server_failures_total\{.*$/gm)).toEqual([
      'upstream_server_failures_total{server="10.0.0.1#53",reason="timeout"} 0',
      'upstream_server_failures_total{server="10.0.0.1#53",reason="unreachable"} 0',
      'upstream_server_failures_total{server="10.0.0.1#53",reason="malformed"} 0',
      'upstream_server_failures_total{server="10.0.0.1#53",reason="servfail"} 1',
      'upstream_server_failures_total{server="10.0.0.1#53",reason="refused"} 0',
      'upstream_server_failures_total{server="10.0.0.1#53",reason="certificate"} 0',
      'upstream_server_failures_total{server="10.0.0.1#53",reason="handshake"} 0',
    ]);
  });

  it('have the connections of encrypted servers, those of several sources together', async () => {
    const of = (connections: number, handshakes: number, certificateEndsAt: number) => ({
      text: 'tls://10.0.0.1#853',
      encrypted: { connections, handshakes, certificateEndsAt },
    });
    const all = [of(2, 7, 0), of(1, 3, 1_800_000_000), of(0, 1, 1_900_000_000)];
    const text = await render([], all);
    const values = text.match(/^\w+\{server="tls:\/\/10\.0\.0\.1#853"\} .*$/gm);
    expect(values?.map((line) => line.replace(/\{.*\}/, ''))).toEqual([
      'upstream_server_certificate_end_timestamp_seconds 1800000000',
      'upstream_server_connections 3',
      'upstream_server_handshakes_total 11',
    ]);
  });
});
