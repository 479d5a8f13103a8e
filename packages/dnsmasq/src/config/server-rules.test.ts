import { describe, expect, it } from '@jest/globals';
import { EMPTY_DNS_CONFIG, parseDnsConfig } from '@kube-dns/daemon';
import { serverText } from '@kube-dns/transport';
import { decodeName } from '@kube-dns/wire';
import { configuredRules } from './server-rules.js';

function rulesOf(files: Readonly<Record<string, unknown>>) {
  const texts = Object.entries(files).map(([key, value]) => [key, JSON.stringify(value)] as const);
  const { rules, usesResolvFile } = configuredRules(parseDnsConfig(new Map(texts)));
  const lines = rules.map(({ domains: [domain], target }) => {
    const server =
      target.kind === 'server'
        ? serverText(target.server)
        : target.kind === 'named-server'
          ? `${serverText({ ...target.server, address: target.server.host })} by name`
          : target.kind;
    return `${decodeName(domain!)} ${server}`;
  });
  return { lines, usesResolvFile };
}

describe('what the ConfigMap adds to the command line', () => {
  it('is nothing when it is empty', () => {
    expect(configuredRules(EMPTY_DNS_CONFIG)).toEqual({ rules: [], usesResolvFile: true });
  });

  it('is one rule per server of a stub domain', () => {
    expect(
      rulesOf({
        stubDomains: {
          'corp.example': ['1.2.3.4', '1.2.3.4:10053', '1.2.3.5:'],
          lab: ['2001:db8::1', '[2001:db8::2]:10053'],
          empty: [],
          named: ['ns.example.com'],
        },
      }),
    ).toEqual({
      lines: [
        'corp.example 1.2.3.4#53',
        'corp.example 1.2.3.4#10053',
        'corp.example 1.2.3.5#53',
        'lab 2001:db8::1#53',
        'lab 2001:db8::2#10053',
        'named ns.example.com#53 by name',
      ],
      usesResolvFile: true,
    });
  });

  it('is a default server per upstream server, instead of the resolv file', () => {
    const upstreamNameservers = ['2.2.2.2:10053', '2001:db8:1::1', '[2001:db8:3::3]:53'];
    expect(rulesOf({ upstreamNameservers })).toEqual({
      lines: ['. 2.2.2.2#10053', '. 2001:db8:1::1#53', '. 2001:db8:3::3#53'],
      usesResolvFile: false,
    });
  });

  it('has encrypted servers, too, as CoreDNS or as dnsmasq writes their ports', () => {
    expect(
      rulesOf({
        stubDomains: { corp: ['tls://9.9.9.9:8853%dns.example', 'tls://dns.example'] },
        upstreamNameservers: ['tls://9.9.9.9#8853%dns.example', 'https://dns.example/q'],
      }),
    ).toEqual({
      lines: [
        'corp tls://9.9.9.9#8853%dns.example',
        'corp tls://dns.example#853 by name',
        '. tls://9.9.9.9#8853%dns.example',
        '. https://dns.example/q (dns.example#443) by name',
      ],
      usesResolvFile: false,
    });
  });

  it.each([[['1.2.3.4:0'], 'stubDomains: server "1.2.3.4:0": port 0 cannot be asked']])(
    'is refused whole for a server that cannot be asked: %s',
    (servers, message) => {
      expect(() => rulesOf({ stubDomains: { good: ['1.2.3.4'], corp: servers } })).toThrow(message);
    },
  );
});
