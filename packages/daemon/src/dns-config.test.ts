import { describe, expect, it } from '@jest/globals';

import {
  EMPTY_DNS_CONFIG,
  parseDnsConfig,
  parseFederations,
  parseNameservers,
  unknownKeys,
} from './dns-config.js';
import { ConfigError } from './errors.js';

const parse = (files: Record<string, string>) => parseDnsConfig(new Map(Object.entries(files)));

function mistakesOf(action: () => unknown): readonly string[] {
  try {
    action();
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

function manyDomains(count: number, servers = 1, labels = ''): string {
  const list = Array.from({ length: servers }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
  const domains = Array.from(
    { length: count },
    (_, i) => [`d${i}${labels}.example`, list] as const,
  );
  return JSON.stringify(Object.fromEntries(domains));
}

describe('unknownKeys', () => {
  it('are named, with the key that was probably meant', () => {
    const keys = ['stubDomains', 'queryLog', 'stubDomain', 'upstreamNameserver', 'README.md'];
    expect(unknownKeys(new Map(keys.map((key) => [key, ''])))).toEqual({
      count: 3,
      warnings: [
        'the key "stubDomain" is not known and has no effect; did you mean stubDomains?',
        'the key "upstreamNameserver" is not known and has no effect; did you mean upstreamNameservers?',
        'the key "README.md" is not known and has no effect',
      ],
    });
  });

  it('are counted beyond 20', () => {
    const many = new Map(Array.from({ length: 50 }, (_, i) => [`x${i}`, '']));
    const { count, warnings } = unknownKeys(many);
    expect([count, warnings.length]).toEqual([50, 20]);
  });
});

describe('parseDnsConfig', () => {
  it('reads all three keys and ignores others', () => {
    const config = parse({
      federations: ' one=example.com , two=x.org ',
      stubDomains:
        '{"acme.local": ["1.2.3.4", "[2001:db8::1]", "[2001:db8::1]:5353", "ns.acme.org"]}',
      upstreamNameservers: '["8.8.8.8", "8.8.4.4:5353", "[2001:db8::2]:53"]',
      unknown: 'not JSON',
    });
    expect(config).toEqual({
      federations: new Map([
        ['one', 'example.com'],
        ['two', 'x.org'],
      ]),
      stubDomains: new Map([
        ['acme.local', ['1.2.3.4', '[2001:db8::1]', '[2001:db8::1]:5353', 'ns.acme.org']],
      ]),
      upstreamNameservers: ['8.8.8.8', '8.8.4.4:5353', '[2001:db8::2]:53'],
      hosts: EMPTY_DNS_CONFIG.hosts,
    });
  });

  it.each([
    [{}],
    [{ stubDomains: '{}', upstreamNameservers: '[]', federations: '' }],
    [{ stubDomains: 'null', upstreamNameservers: 'null', federations: ' ' }],
  ])('reads %j as an empty configuration', (files: Record<string, string>) => {
    expect(parse(files)).toEqual(EMPTY_DNS_CONFIG);
  });

  it.each([
    ['30,000 stub domains', manyDomains(30_000), 'it has more than 100000 brackets and commas'],
    ['3,000 stub domains', manyDomains(3_000), '3000 domains, at most 2048 are possible'],
    ['too many servers', manyDomains(3, 1_000), '3000 servers, at most 2048 are possible'],
    [
      'names with too many labels',
      manyDomains(2_048, 1, '.a'.repeat(108)),
      'domains of 467882 characters, at most 49152 are possible',
    ],
    ['deep nesting', '['.repeat(500_000), 'it is nested more than 100 deep'],
    [
      'too many values',
      `[${'0,'.repeat(200_000)}0]`,
      'it has more than 100000 brackets and commas',
    ],
    ['too much text', ' '.repeat(1_048_577), 'it has more than 1048576 characters'],
  ])('refuses %s', (_what, stubDomains, reason) => {
    expect(mistakesOf(() => parse({ stubDomains }))).toEqual([`stubDomains: ${reason}`]);
  });

  it('accepts 2,048 stub domains and federations, and refuses more', () => {
    expect(parse({ stubDomains: manyDomains(2_048) }).stubDomains.size).toBe(2_048);
    const federations = (count: number) =>
      Array.from({ length: count }, (_, i) => `f${i}=example.com`).join(',');
    expect(parse({ federations: federations(2_048) }).federations.size).toBe(2_048);
    expect(mistakesOf(() => parse({ federations: federations(2_049) }))).toEqual([
      'federations: more than 2048',
    ]);
  });

  it('names every mistake with key, value and reason', () => {
    const mistakes = mistakesOf(() =>
      parse({
        federations: 'nope,UPPER=example.com,ok=$$$',
        stubDomains:
          '{"": [], "UPPER": [], "a.b": 7, "c.d": ["$$$$", "ns.example.com:53", "1.2.3.4:70000"]}',
        upstreamNameservers: '["name.example.com", "1.1.1.1:", "1.1.1.1:0"]',
      }),
    );
    expect(mistakes).toEqual([
      'federations: "nope" is not name=domain',
      'federations: "UPPER" is not a DNS label',
      'federations: ok: "$$$" is not a domain',
      'stubDomains: "" is not a domain',
      'stubDomains: "UPPER" is not a domain',
      'stubDomains: a.b: not an array of strings: write it as ["10.1.2.3"]',
      'stubDomains: c.d: "$$$$": neither an IP address nor a DNS name',
      'stubDomains: c.d: "ns.example.com:53": a name cannot have a port',
      'stubDomains: c.d: "1.2.3.4:70000": port "70000" is not a number up to 65535',
      'upstreamNameservers: "name.example.com": not an IP address',
      'upstreamNameservers: "1.1.1.1:": the port is missing',
      'upstreamNameservers: "1.1.1.1:0": port 0 is not possible',
    ]);
  });

  it.each([
    ['', 'not JSON: write it as {"acme.example": ["10.1.2.3"]}'],
    ['a.b=1.2.3.4', 'not JSON: write it as {"a.b": ["1.2.3.4"]}'],
    ['"a.b": [1.2.3.4, ::1]', 'not JSON: write it as {"a.b": ["1.2.3.4", "::1"]}'],
    ['a.b: 1.2.3.4\nc.d: 1.2.3.5', 'not JSON: write it as {"acme.example": ["10.1.2.3"]}'],
    ['{', /^not JSON: write it as {"acme\.example": \["10\.1\.2\.3"\]} \(.+\)$/],
    ['[]', 'not an object of domains: write it as {"acme.example": ["10.1.2.3"]}'],
    ['"a.b:1.2.3.4"', 'not an object of domains: write it as {"a.b": ["1.2.3.4"]}'],
    ['{"a.b": [1]}', 'a.b: not an array of strings: write it as ["10.1.2.3"]'],
    ['{"a.b": "1.2.3.4:53"}', 'a.b: not an array of strings: write it as ["1.2.3.4:53"]'],
  ])('refuses stubDomains %j, and shows the right form', (stubDomains, message) => {
    const [mistake = ''] = mistakesOf(() => parse({ stubDomains }));
    expect(mistake.replace('stubDomains: ', '')).toMatch(message);
    if (typeof message === 'string') expect(mistake).toBe(`stubDomains: ${message}`);
  });

  it.each([
    ['1.2.3.4', 'upstreamNameservers: not JSON: write it as ["1.2.3.4"]'],
    [' 1.2.3.4:53, ::1 ', 'upstreamNameservers: not JSON: write it as ["1.2.3.4:53", "::1"]'],
    ['dns.example', 'upstreamNameservers: not JSON: write it as ["10.1.2.3"]'],
    ['{}', 'upstreamNameservers: not an array of strings: write it as ["10.1.2.3"]'],
    ['[1]', 'upstreamNameservers: not an array of strings: write it as ["10.1.2.3"]'],
    ['"1.2.3.4"', 'upstreamNameservers: not an array of strings: write it as ["1.2.3.4"]'],
    [
      '["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]',
      'upstreamNameservers: 4 servers, at most 3 are possible',
    ],
  ])('refuses upstreamNameservers %s', (upstreamNameservers, message) => {
    expect(() => parse({ upstreamNameservers })).toThrow(new Error(message));
  });

  it('accepts a stub domain with the name of a property that every object has', () => {
    expect(parse({ stubDomains: '{"constructor": ["1.2.3.4"]}' }).stubDomains).toEqual(
      new Map([['constructor', ['1.2.3.4']]]),
    );
  });

  it('repeats only the beginning of a very long value', () => {
    const [mistake] = mistakesOf(() => parse({ federations: 'x'.repeat(100_000) }));
    expect(mistake!.length).toBeLessThan(200);
  });
});

describe('the flags of the same name', () => {
  it('reads federations', () => {
    expect(parseFederations('a=b.c')).toEqual(new Map([['a', 'b.c']]));
    expect(() => parseFederations('a')).toThrow(ConfigError);
  });

  it('reads name servers, without a limit of their number', () => {
    expect(parseNameservers('')).toEqual([]);
    expect(parseNameservers('1.1.1.1, 1.1.1.2:53,[::1]:53,::1')).toEqual([
      '1.1.1.1',
      '1.1.1.2:53',
      '[::1]:53',
      '::1',
    ]);
    expect(() => parseNameservers('1.1.1.1,x.y')).toThrow(
      new Error('nameservers: "x.y": not an IP address'),
    );
  });
});
