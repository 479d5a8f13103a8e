import { describe, expect, it } from '@jest/globals';
import { serverText } from '@kube-dns/transport';
import { decodeName } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { OPTIONS } from './option-table.js';
import { defaultOptions, type DnsmasqOptions } from './option-values.js';
import { optionsText, parseOptions } from './parse-options.js';

const parse = (line: string) => parseOptions(line.split(' ').filter(Boolean));

/** The rules as one writes them: `domain,domain→target`. */
function ruleTexts({ serverRules }: DnsmasqOptions): string[] {
  return serverRules.map(({ domains, target }) => {
    const left = domains.map((domain) => decodeName(domain)).join(',');
    return `${left}→${target.kind === 'server' ? serverText(target.server) : target.kind}`;
  });
}

const CLUSTER = ['cluster.local→127.0.0.1#10053', 'in-addr.arpa→127.0.0.1#10053'];
const ADDON =
  '-k --cache-size=1000 --no-negcache --dns-loop-detect --log-facility=- ' +
  '--server=/cluster.local/127.0.0.1#10053 --server=/in-addr.arpa/127.0.0.1#10053 ' +
  '--server=/ip6.arpa/127.0.0.1#10053';

describe('the command lines of real deployments', () => {
  it.each<[string, string, Partial<DnsmasqOptions>, string[]]>([
    [
      'the addon today',
      ADDON,
      { cacheSize: 1000, detectsLoops: true, usesResolvFile: true, port: 53 },
      [...CLUSTER, 'ip6.arpa→127.0.0.1#10053'],
    ],
    [
      'the addon of 1.8 to 1.10',
      ADDON.replace(' --dns-loop-detect', ''),
      { cacheSize: 1000, detectsLoops: false },
      [...CLUSTER, 'ip6.arpa→127.0.0.1#10053'],
    ],
    [
      'the addon before 1.8',
      ADDON.replace(' --dns-loop-detect', '').replace(' --no-negcache', ''),
      { cacheSize: 1000 },
      [...CLUSTER, 'ip6.arpa→127.0.0.1#10053'],
    ],
    [
      'the addon of 1.6',
      '-k --cache-size=1000 --log-facility=- --server=127.0.0.1#10053',
      { cacheSize: 1000 },
      ['→127.0.0.1#10053'],
    ],
    [
      'dnsmasq before the nanny',
      '--cache-size=1000 --no-resolv --server=127.0.0.1#10053 --log-facility=-',
      { cacheSize: 1000, usesResolvFile: false },
      ['→127.0.0.1#10053'],
    ],
    [
      'GKE',
      `${ADDON} --dns-forward-max=1500 --max-ttl=30 --max-cache-ttl=30`,
      { maxInFlight: 1500, maxTtlSeconds: 30, maxCacheTtlSeconds: 30 },
      [...CLUSTER, 'ip6.arpa→127.0.0.1#10053'],
    ],
    [
      'kops',
      '-k --cache-size=1000 --dns-forward-max=150 --no-negcache --server=/in6.arpa/127.0.0.1#10053',
      { maxInFlight: 150 },
      ['in6.arpa→127.0.0.1#10053'],
    ],
    [
      'trailing dots, servers of one’s own, a larger cache',
      '-k -R --cache-size=10000 --server=/cluster.local./127.0.0.1#10053 --server=8.8.8.8 ' +
        '--server=/corp.example/10.1.2.3',
      { cacheSize: 10_000, usesResolvFile: false },
      ['cluster.local→127.0.0.1#10053', '→8.8.8.8#53', 'corp.example→10.1.2.3#53'],
    ],
  ])('starts unchanged: %s', (_name, line, values, rules) => {
    const options = parse(line);
    expect(options).toMatchObject(values);
    expect(ruleTexts(options)).toEqual(rules);
  });

  it('has dnsmasq’s defaults, but for the questions under way', () => {
    expect(parse('')).toEqual(defaultOptions());
    expect(defaultOptions()).toMatchObject({ port: 53, cacheSize: 150, maxInFlight: 1500 });
  });
});

describe('the ways to write an option', () => {
  it.each<[string, Partial<DnsmasqOptions>]>([
    ['--cache-size=7', { cacheSize: 7 }],
    ['-c 7', { cacheSize: 7 }],
    ['-c7', { cacheSize: 7 }],
    ['--cache-s=7', { cacheSize: 7 }],
    ['--port 1053', { port: 1053 }],
    ['--port=1053', { port: 1053 }],
    ['-p1053', { port: 1053 }],
    ['-p 1053', { port: 1053 }],
    ['-kN', {}],
    ['-kNR', { usesResolvFile: false }],
    ['-kRp 1053', { usesResolvFile: false, port: 1053 }],
    ['-kRp1053', { usesResolvFile: false, port: 1053 }],
    ['--no-r', { usesResolvFile: false }],
    ['--keep --no-neg', {}],
    ['-8 -', {}],
    ['-0 20', { maxInFlight: 20 }],
    ['--resolv-file=/x', { resolvFile: '/x', usesResolvFile: true }],
    ['-r /x', { resolvFile: '/x' }],
    ['--resolv-file', { resolvFile: '' }],
    [
      '--listen-address=127.0.0.1,::1 -a 10.0.0.1',
      { listenAddresses: ['127.0.0.1', '::1', '10.0.0.1'] },
    ],
    ['--test', { isTest: true }],
    ['--max-cache-ttl=9 --min-cache-ttl=3', { maxCacheTtlSeconds: 9, minCacheTtlSeconds: 3 }],
    ['--port=1 --port=2', { port: 2 }],
    ['-k --', {}],
  ])('takes %s', (line, values) => {
    expect(parse(line)).toEqual({ ...defaultOptions(), ...values });
  });

  it('adds up repeated servers, whatever they are called', () => {
    const options = parse(
      '-S 1.1.1.1 --server 2.2.2.2 --server=3.3.3.3 --local=/corp/ --local=4.4.4.4',
    );
    expect(ruleTexts(options)).toEqual([
      '→1.1.1.1#53',
      '→2.2.2.2#53',
      '→3.3.3.3#53',
      'corp→local',
      '→4.4.4.4#53',
    ]);
  });

  it.each<[string, Partial<DnsmasqOptions>]>([
    ['--cache-size=5000001', { cacheSize: 5_000_000 }],
    ['--min-cache-ttl=3601', { minCacheTtlSeconds: 3_600 }],
    ['--edns-packet-max=100', { maxUdpBytes: 512 }],
    ['-P 4096', { maxUdpBytes: 4096 }],
  ])('keeps a number inside dnsmasq’s limits: %s', (line, values) => {
    expect(parse(line)).toMatchObject(values);
  });
});

describe('a command line that cannot be obeyed', () => {
  it.each([
    ['junk', 'junk found in command line: "junk"'],
    ['-k junk', 'junk found in command line: "junk"'],
    ['-', 'junk found in command line: "-"'],
    ['-k -- --port=5', 'junk found in command line: "--port=5"'],
    ['--cache-size 1000', '--cache-size: bad number ""'],
    ['--resolv-file /x', 'junk found in command line: "/x"'],
    ['--no-such', 'unsupported option: --no-such'],
    ['--strict-order', 'unsupported option: --strict-order'],
    ['--dhcp-range=1.2.3.4,1.2.3.5', 'unsupported option: --dhcp-range'],
    ['-kX', 'unsupported option: -X'],
    ['--constructor', 'unsupported option: --constructor'],
    ['--no', 'ambiguous option --no: --no-negcache, --no-resolv'],
    ['--no-', 'ambiguous option --no-: --no-negcache, --no-resolv'],
    ['--max=1', 'ambiguous option --max: --max-cache-ttl, --max-ttl'],
    ['--no-resolv=1', 'option --no-resolv takes no value'],
    ['--keep=', 'option --keep-in-foreground takes no value'],
    ['--server', 'option --server needs a value'],
    ['-kp', 'option --port needs a value'],
    ['--port=65536', '--port: bad number "65536"'],
    ['--port=-1', '--port: bad number "-1"'],
    ['--port=+1', '--port: bad number "+1"'],
    ['--port=0x10', '--port: bad number "0x10"'],
    ['--cache-size=1e3', '--cache-size: bad number "1e3"'],
    ['-c abc', '--cache-size: bad number "abc"'],
    ['--max-ttl=1.5', '--max-ttl: bad number "1.5"'],
    ['--cache-size=99999999999', '--cache-size: bad number "99999999999"'],
    ['--listen-address=here', '--listen-address: bad address "here"'],
    ['--listen-address=', '--listen-address: bad address ""'],
    ['--log-facility=daemon', '--log-facility: unsupported log facility "daemon"'],
    ['--server=ns.example.com', '--server: bad server address "ns.example.com"'],
    ['-S /dom/1.2.3.4#99999', '--server: bad server address "1.2.3.4#99999"'],
  ])('is refused with the option and the reason: %s', (line, message) => {
    expect(() => parse(line)).toThrow(new OptionError(message));
  });
});

describe('the table of options', () => {
  it('has each name and each letter once', () => {
    const names = OPTIONS.map(({ name }) => name);
    const letters = OPTIONS.map(({ short }) => short).filter((short) => short !== '');
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(letters).size).toBe(letters.length);
  });

  it('is listed whole in the help text', () => {
    const lines = optionsText().split('\n');
    for (const { name, help } of OPTIONS) {
      expect(lines).toContainEqual(expect.stringMatching(`--${name}\\b`));
      expect(optionsText()).toContain(help);
    }
  });
});
