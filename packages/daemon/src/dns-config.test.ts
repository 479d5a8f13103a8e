import { describe, expect, it } from '@jest/globals';

import {
  EMPTY_DNS_CONFIG,
  parseDnsConfig,
  parseFederations,
  parseNameservers,
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
    });
  });

  it.each([
    [{}],
    [{ stubDomains: '{}', upstreamNameservers: '[]', federations: '' }],
    [{ stubDomains: 'null', upstreamNameservers: 'null', federations: ' ' }],
  ])('reads %j as an empty configuration', (files: Record<string, string>) => {
    expect(parse(files)).toEqual(EMPTY_DNS_CONFIG);
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
      'stubDomains: a.b: not an array of strings',
      'stubDomains: c.d: "$$$$": neither an IP address nor a DNS name',
      'stubDomains: c.d: "ns.example.com:53": a name cannot have a port',
      'stubDomains: c.d: "1.2.3.4:70000": port "70000" is not a number up to 65535',
      'upstreamNameservers: "name.example.com": not an IP address',
      'upstreamNameservers: "1.1.1.1:": the port is missing',
      'upstreamNameservers: "1.1.1.1:0": port 0 is not possible',
    ]);
  });

  it.each([
    ['', /^stubDomains: not JSON: /],
    ['{', /^stubDomains: not JSON: /],
    ['[]', /^stubDomains: not an object/],
    ['"x"', /^stubDomains: not an object/],
    ['{"a.b": [1]}', /^stubDomains: a\.b: not an array of strings$/],
  ])('refuses stubDomains %j', (stubDomains, message) => {
    expect(() => parse({ stubDomains })).toThrow(message);
  });

  it.each([
    ['{}', 'upstreamNameservers: not an array of strings'],
    ['[1]', 'upstreamNameservers: not an array of strings'],
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
