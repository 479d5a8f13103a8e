import { describe, expect, it } from '@jest/globals';
import { CorefileError } from './corefile.js';
import { pluginsText } from './plugins.js';
import { readServerBlocks } from './read-server-blocks.js';
import type { ServerBlock } from './server-block.js';

const block = (...lines: string[]): ServerBlock =>
  readServerBlocks(`.:53 {\n${lines.join('\n')}\n}\n`, 'Corefile')[0]!;

describe('the plugins', () => {
  it('take every option of cache', () => {
    const { cache } = block(
      'cache 60 Example.org. 10.0.0.0/8 {',
      'success 512 20 1',
      'denial 100',
      'prefetch 3 2m 20%',
      'serve_stale 2h verify 100ms',
      'servfail 1s',
      'disable success a.b',
      'disable denial',
      'keepttl',
      '}',
    );
    expect(cache).toEqual({
      zones: ['example.org', '10.in-addr.arpa'],
      success: { capacity: 1024, maxTtlSeconds: 20, minTtlSeconds: 1 },
      denial: { capacity: 1024, maxTtlSeconds: 60, minTtlSeconds: 5 },
      servfailMs: 1_000,
      disabledSuccess: ['a.b'],
      disabledDenial: ['.'],
      prefetch: { hits: 3, gapMs: 120_000, percent: 20 },
      stale: { maxAgeSeconds: 7_200, verifyMs: 100 },
      keepsTtl: true,
    });
    const stale = (words: string) => block(`cache {\nserve_stale ${words}\n}`).cache?.stale;
    expect(stale('')).toEqual({ maxAgeSeconds: 3_600, verifyMs: undefined });
    expect(stale('1h VERIFY')).toEqual({ maxAgeSeconds: 3_600, verifyMs: 5_000 });
    expect(stale('0')).toBeUndefined();
    expect(block('cache {\nprefetch 0\n}').cache?.prefetch).toBeUndefined();
  });

  it('take the options of forward', () => {
    const { forward } = block(
      'forward example.org 192.0.2.1 192.0.2.2:5353 [2001:db8::1]:54 tls://192.0.2.3 {',
      'except a.example.org B.example.org.',
      'prefer_udp',
      'policy sequential',
      'max_fails 0',
      'expire 30s',
      'max_age 5m',
      'max_concurrent 1000',
      'health_check 2s',
      'tls /ca.pem',
      'tls_servername dns.example',
      'failfast_all_unhealthy_upstreams',
      '}',
    );
    const encryption = { protocol: 'tls', name: 'dns.example', path: '' };
    expect(forward).toMatchObject({
      from: 'example.org',
      except: ['a.example.org', 'b.example.org'],
      targets: [
        { address: '192.0.2.1', port: 53 },
        { address: '192.0.2.2', port: 5353 },
        { address: '2001:db8::1', port: 54 },
        { address: '192.0.2.3', port: 853, encryption },
      ],
      protocol: 'udp',
      policy: 'sequential',
      maxFails: 0,
      expireMs: 30_000,
      maxAgeMs: 300_000,
      maxConcurrent: 1000,
      healthCheckMs: 2_000,
      tlsCaFile: '/ca.pem',
      failsFastWhenAllDown: true,
    });
  });

  it.each([
    ['max_age 9s', 'max_age is shorter than expire'],
    ['expire 1m\nmax_age 59s', 'max_age is shorter than expire'],
    ['max_age', 'DURATION'],
    ['max_age 10', '10'],
    ['max_age -1s', '-1s'],
  ])('do not take the option %j of forward', (lines, reason) => {
    expect(() => block('forward . 192.0.2.1 {', lines, '}')).toThrow(reason);
  });

  it('take max_age as CoreDNS does: none unless it is given, and 0 is none', () => {
    const maxAgeMs = (...lines: string[]) =>
      block('forward . 192.0.2.1 {', ...lines, '}').forward?.maxAgeMs;
    expect([maxAgeMs(), maxAgeMs('max_age 0s'), maxAgeMs('max_age 10s')]).toEqual([0, 0, 10_000]);
  });

  it('take a certificate’s name from a target, and HTTPS with CoreDNS’s path', () => {
    const targets = block(
      'forward . tls://[2001:db8::1%dns.example]:8853 https://192.0.2.1',
    ).forward;
    expect(targets?.targets).toEqual([
      {
        address: '2001:db8::1',
        port: 8853,
        encryption: { protocol: 'tls', name: 'dns.example', path: '' },
      },
      {
        address: '192.0.2.1',
        port: 443,
        encryption: { protocol: 'https', name: '192.0.2.1', path: '/dns-query' },
      },
    ]);
  });

  it('take hosts with lines, log with classes and errors with patterns', () => {
    const local = block(
      'hosts /hosts example.org {',
      '192.0.2.1 a.example.org b',
      'ttl 60',
      'no_reverse',
      'reload 1m',
      'fallthrough',
      '}',
      'log example.org "{combined} {local}" {',
      'class denial error',
      '}',
      'errors {',
      'stacktrace',
      'consolidate 5m ".* i/o timeout$" warning show_first',
      '}',
    );
    expect(local.hosts).toEqual({
      file: '/hosts',
      zones: ['example.org'],
      lines: ['192.0.2.1 a.example.org b'],
      ttlSeconds: 60,
      reloadMs: 60_000,
      hasReverse: false,
      fallthrough: ['.'],
    });
    expect(local.log?.classes).toEqual(['denial', 'error']);
    expect(local.log?.format).toMatch(/^\{remote\}:\{port\} - \{>id\} .* "\{>opcode\}" \{local\}$/);
    expect(local.errorPatterns).toMatchObject([
      { periodMs: 300_000, level: 'warning', showsFirst: true },
    ]);
    expect(local.errorPatterns[0]?.pattern.test('read udp: i/o timeout')).toBe(true);
  });

  it.each(['([ab.]{1,30}){10}z', '(.{0,100}){9}x', '(x)\\1', 'x'.repeat(1_001), '['])(
    'do not take the pattern %j, which clients could make slow, or is none',
    (pattern) => {
      expect(() => block('errors {', `consolidate 5m "${pattern}"`, '}')).toThrow(CorefileError);
    },
  );

  it('take patterns that repeat groups, whose time is in proportion to the text, of bounded length', () => {
    const { errorPatterns } = block('errors {', 'consolidate 5m "^(([a-z]+)+[.])+$"', '}');
    const { pattern } = errorPatterns[0]!;
    expect(pattern.find('a.bc.')).toEqual(['a.bc.', 'bc.', 'bc']);
    expect(pattern.find('a'.repeat(510))).toBeUndefined();
    expect(pattern.test(`${'a'.repeat(511)}.`)).toBe(true);
    expect(pattern.test(`${'a'.repeat(512)}.`)).toBe(false);
  });

  it('are listed one a line, in the order of their names', () => {
    const names = pluginsText().trimEnd().split('\n');
    expect(names).toEqual([...names].sort());
    expect(names).toContain('forward');
  });
});
