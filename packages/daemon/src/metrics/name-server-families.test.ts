import { describe, expect, it } from '@jest/globals';

import { renderFamilies } from './exposition.js';
import { NameServerHealth, nameServerFamilies } from './name-server-families.js';

const METRICS = {
  queries: { name: 'queries', help: 'H.', labelNames: ['server'] },
  latency: { name: 'latency', help: 'H.', labelNames: ['server'] },
  failures: { name: 'failures', help: 'H.', labelNames: ['server', 'reason'] },
  connections: { name: 'connections', help: 'H.', labelNames: ['server'] },
  handshakes: { name: 'handshakes', help: 'H.', labelNames: ['server'] },
  certificateEnd: { name: 'certificate_end', help: 'H.', labelNames: ['server'] },
};

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
    const text = await renderFamilies(
      nameServerFamilies(
        METRICS,
        () => [['10.0.0.1#53', { queries: 4, health }]],
        () => [{ text: '10.0.0.1#53' }],
      ),
    );
    expect(text).not.toContain('connections{');
    expect(text).toContain('queries{server="10.0.0.1#53"} 4\n');
    expect(text).toContain('latency_bucket{server="10.0.0.1#53",le="0.0025"} 0\n');
    expect(text).toContain('latency_bucket{server="10.0.0.1#53",le="0.005"} 1\n');
    expect(text).toContain('latency_sum{server="10.0.0.1#53"} 0.003\n');
    expect(text.match(/^failures\{.*$/gm)).toEqual([
      'failures{server="10.0.0.1#53",reason="timeout"} 0',
      'failures{server="10.0.0.1#53",reason="unreachable"} 0',
      'failures{server="10.0.0.1#53",reason="malformed"} 0',
      'failures{server="10.0.0.1#53",reason="servfail"} 1',
      'failures{server="10.0.0.1#53",reason="refused"} 0',
      'failures{server="10.0.0.1#53",reason="certificate"} 0',
      'failures{server="10.0.0.1#53",reason="handshake"} 0',
    ]);
  });

  it('have the connections of encrypted servers, those of several sources together', async () => {
    const of = (connections: number, handshakes: number, certificateEndsAt: number) => ({
      text: 'tls://10.0.0.1#853',
      encrypted: { connections, handshakes, certificateEndsAt },
    });
    const all = [of(2, 7, 0), of(1, 3, 1_800_000_000), of(0, 1, 1_900_000_000)];
    const text = await renderFamilies(
      nameServerFamilies(
        METRICS,
        () => [],
        () => all,
      ),
    );
    const values = text.match(/^\w+\{server="tls:\/\/10\.0\.0\.1#853"\} .*$/gm);
    expect(values?.map((line) => line.replace(/\{.*\}/, ''))).toEqual([
      'certificate_end 1800000000',
      'connections 3',
      'handshakes 11',
    ]);
  });
});
