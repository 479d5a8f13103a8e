import { describe, expect, it } from '@jest/globals';
import { factsOfPages } from './page-facts.js';

const page = (metrics: string, failures = '') => ({
  by: 'dnsmasq',
  report: {
    program: 'dnsmasq',
    at: '2026-01-01T00:00:00.000Z',
    sections: { 'Upstream servers': [{ server: '9.9.9.9#53', failures }] },
  },
  metrics,
  aheadMs: 0,
});
const CERTIFICATE = 'kubedns_upstream_server_certificate_end_timestamp_seconds';
const REQUESTS = 'coredns_dns_requests_total';

describe('the facts of pages', () => {
  it('are those of labels and of failures', () => {
    const metrics = [
      '# TYPE x counter',
      `${CERTIFICATE}{a="\\"b=\\"",server="9.9.9.9#53"} 1767225660`,
      `${REQUESTS}{server="dns://:53",type="AAAA"} 40`,
      `${REQUESTS}{server="dns://:53",type="A"} 60`,
    ].join('\n');
    const facts = factsOfPages([page(metrics, 'timeout 3, bad reply 1, certificate 2')]);
    expect(facts.questionTypes).toEqual([{ by: 'dnsmasq', all: 100, aaaa: 40 }]);
    expect(facts.upstreams![0]!.failures).toEqual({ timeout: 3, 'bad reply': 1, certificate: 2 });
    expect(facts.certificates).toEqual([
      { by: 'dnsmasq', server: '9.9.9.9#53', endsInSeconds: 60, failures: 2 },
    ]);
  });

  it('have the upstream servers on loopback, but not the programs of the pod', () => {
    const servers = ['127.0.0.1#9', '127.0.0.53#53', '127.0.0.1#10053', '127.0.0.1#32053', '[::1]#5300', '9.9.9.9#10053']; // prettier-ignore
    const pageOf = (program: string, sections: object) => ({ by: program, report: { program, sections }, metrics: '', aheadMs: 0 }); // prettier-ignore
    const { upstreams } = factsOfPages([
      pageOf('kubedns', { Settings: [{ setting: '--dns-port', value: '32053' }] }),
      pageOf('dnsmasq', {
        Settings: [{ setting: '--port', value: '5300' }],
        'Upstream servers': servers.map((server) => ({ server, domains: '.', state: 'down' })),
      }),
    ]);
    expect(upstreams!.map(({ server }) => server)).toEqual(['127.0.0.1#9', '127.0.0.53#53', '9.9.9.9#10053']); // prettier-ignore
  });

  it('are read from texts without an end in a time that grows with their length', () => {
    const word = 'a'.repeat(1_000_000);
    const facts = factsOfPages([page(`${REQUESTS}{${word}} 5`, 'a '.repeat(500_000))]);
    expect(facts.questionTypes).toEqual([{ by: 'dnsmasq', all: 5, aaaa: 0 }]);
    expect(facts.upstreams![0]!.failures).toEqual({});
  });
});
