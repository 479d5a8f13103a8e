import { describe, expect, it } from '@jest/globals';
import { StartupError } from '@kube-dns/daemon';
import { serverText } from '@kube-dns/transport';
import { decodeName } from '@kube-dns/wire';
import { defaultOptions, type DnsmasqOptions, KNOWN_OPTIONS, optionsText } from './option-table.js';
import { parseOptions } from './parse-options.js';
import { UNSUPPORTED_OPTIONS } from './unsupported-options.js';

const parse = (line: string) => parseOptions(line.split(' ').filter(Boolean));

/** The rules as text: `domain,domain→target`. */
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
      ['.→127.0.0.1#10053'],
    ],
    [
      'dnsmasq before the nanny',
      '--cache-size=1000 --no-resolv --server=127.0.0.1#10053 --log-facility=-',
      { cacheSize: 1000, usesResolvFile: false },
      ['.→127.0.0.1#10053'],
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
      'trailing dots, custom servers, a larger cache',
      '-k -R --cache-size=10000 --server=/cluster.local./127.0.0.1#10053 --server=8.8.8.8 ' +
        '--server=/corp.example/10.1.2.3',
      { cacheSize: 10_000, usesResolvFile: false },
      ['cluster.local→127.0.0.1#10053', '.→8.8.8.8#53', 'corp.example→10.1.2.3#53'],
    ],
  ])('starts unchanged: %s', (_name, line, values, rules) => {
    const options = parse(line);
    expect(options).toMatchObject(values);
    expect(ruleTexts(options)).toEqual(rules);
  });

  it('has dnsmasq’s defaults, except for the questions in flight', () => {
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
    ['-kN', { cachesNegatives: false }],
    ['-kNR', { cachesNegatives: false, usesResolvFile: false }],
    ['-kRp 1053', { usesResolvFile: false, port: 1053 }],
    ['-kRp1053', { usesResolvFile: false, port: 1053 }],
    ['--no-res', { usesResolvFile: false }],
    ['--keep --no-neg', { cachesNegatives: false }],
    ['-8 -', {}],
    ['-0 20', { maxInFlight: 20 }],
    ['--resolv-file=/x', { resolvFile: '/x', resolvFiles: ['/x'] }],
    ['-r /x', { resolvFile: '/x', resolvFiles: ['/x'] }],
    ['--resolv-file', { resolvFile: '' }],
    [
      '--listen-address=127.0.0.1,::1 -a 10.0.0.1',
      { listenAddresses: ['127.0.0.1', '::1', '10.0.0.1'] },
    ],
    ['--test', { request: 'test' }],
    ['--version --nonsense', { request: 'version' }],
    ['-w junk', { request: 'help' }],
    ['-qk', { logsQueries: 'yes' }],
    ['--log-queries=extra', { logsQueries: 'extra' }],
    ['--use-stale-cache', { maxStaleSeconds: 86_400 }],
    ['--prefetch', { prefetch: { hits: 3, percent: 10 } }],
    ['--prefetch=5,20', { prefetch: { hits: 5, percent: 20 } }],
    ['--stale=100ms', { stale: { timeoutMs: 100, maxAgeSeconds: 3_600, ttlSeconds: 30 } }],
    ['--stale=1.8s,1m,5', { stale: { timeoutMs: 1_800, maxAgeSeconds: 60, ttlSeconds: 5 } }],
    ['--stale=0,20', { stale: { timeoutMs: 0, maxAgeSeconds: 20, ttlSeconds: 20 } }],
    ['--use-stale-cache=0', { maxStaleSeconds: Number.POSITIVE_INFINITY }],
    ['--fast-dns-retry', { fastRetry: { firstMs: 1_000, limitMs: 10_000 } }],
    ['--fast-dns-retry=200,3000', { fastRetry: { firstMs: 200, limitMs: 3_000 } }],
    ['--filter-A --filter-rr=MX,ANY', { filteredTypes: [1, 15, 255] }],
    ['--cache-rr=txt,65', { cachedTypes: [16, 65] }],
    ['-H /a --addn-hosts=/b -h', { hostsPaths: ['/a', '/b'], usesEtcHosts: false }],
    ['--max-cache-ttl=9 --min-cache-ttl=3', { maxCacheTtlSeconds: 9, minCacheTtlSeconds: 3 }],
    ['--port=1 --port=2', { port: 2 }],
    ['-k --', {}],
  ])('takes %s', (line, values) => {
    expect(parse(line)).toEqual({ ...defaultOptions(), ...values });
  });

  it('adds up repeated servers, under each name of the option', () => {
    const options = parse(
      '-S 1.1.1.1 --server 2.2.2.2 --server=3.3.3.3 --local=/corp/ --local=4.4.4.4',
    );
    expect(ruleTexts(options)).toEqual([
      '.→1.1.1.1#53',
      '.→2.2.2.2#53',
      '.→3.3.3.3#53',
      'corp→local',
      '.→4.4.4.4#53',
    ]);
  });

  it.each<[string, Partial<DnsmasqOptions>]>([
    ['--cache-size=5000001', { cacheSize: 5_000_000 }],
    ['--min-cache-ttl=3601', { minCacheTtlSeconds: 3_600 }],
    ['--edns-packet-max=100', { maxUdpBytes: 512 }],
    ['-P 4096', { maxUdpBytes: 4096 }],
  ])('limits a number as dnsmasq does: %s', (line, values) => {
    expect(parse(line)).toMatchObject(values);
  });
});

describe('an invalid command line', () => {
  it.each([
    ['junk', 'junk found in command line: "junk"'],
    ['-k junk', 'junk found in command line: "junk"'],
    ['-', 'junk found in command line: "-"'],
    ['-k -- --port=5', 'junk found in command line: "--port=5"'],
    ['--resolv-file /x', 'junk found in command line: "/x"'],
  ])('has a word too many: %s', (line, message) => {
    expect(() => parse(line)).toThrow(new StartupError(message, 1));
  });

  it.each([
    ['--cache-size 1000', 'try --help (--cache-size: bad number "")'],
    ['junk --no-such', 'try --help (unknown option --no-such)'],
    ['-k%', 'try --help (unknown option -%)'],
    ['--constructor', 'try --help (unknown option --constructor)'],
    ['--no-r', 'try --help (ambiguous option --no-r: --no-resolv, --no-round-robin)'],
    [
      '--max-p=1 --max-t',
      'try --help (ambiguous option --max-t: --max-tcp-connections, --max-ttl)',
    ],
    ['--no-resolv=1', 'try --help (--no-resolv: it takes no value)'],
    ['--keep=', 'try --help (--keep-in-foreground: it takes no value)'],
    ['--server', 'try --help (--server: it needs a value)'],
    ['-kp', 'try --help (--port: it needs a value)'],
    ['--port=65536', 'try --help (--port: bad number "65536")'],
    ['--port=-1', 'try --help (--port: bad number "-1")'],
    ['--port=+1', 'try --help (--port: bad number "+1")'],
    ['--port=0x10', 'try --help (--port: bad number "0x10")'],
    ['--cache-size=1e3', 'try --help (--cache-size: bad number "1e3")'],
    ['-c abc', 'try --help (--cache-size: bad number "abc")'],
    ['--max-ttl=1.5', 'try --help (--max-ttl: bad number "1.5")'],
    ['--cache-size=99999999999', 'try --help (--cache-size: bad number "99999999999")'],
    ['--listen-address=here', 'try --help (--listen-address: bad address "here")'],
    ['--listen-address=', 'try --help (--listen-address: bad address "")'],
    ['--fast-dns-retry=49', 'try --help (--fast-dns-retry: 49 ms are too few)'],
    ['--prefetch=0', 'try --help (--prefetch: it cannot be 0)'],
    ['--prefetch=1,2,3', 'try --help (--prefetch: it is HITS[,PERCENT])'],
    ['--stale=x', 'try --help (--stale: "x" is no duration, such as 100ms, 1h or 30)'],
    ['--stale=1,2,3,4', 'try --help (--stale: it is TIMEOUT[,MAXAGE[,TTL]])'],
    ['--stale=1,0', 'try --help (--stale: an age of 0 is too short)'],
    ['--stale=1,60,61', 'try --help (--stale: a TTL of 61 is not between 1 and the age)'],
    ['--max-tcp-connections=0', 'try --help (--max-tcp-connections: it cannot be 0)'],
    ['--log-facility=here', 'bad log facility (--log-facility: no facility "here")'],
    ['-S 1.2.3.4#x', 'bad port (--server: bad port "x")'],
    ['-S /dom/1.2.3.4#99999', 'bad port (--server: bad port "99999")'],
    ['--filter-rr=FOO', 'bad RR type (--filter-rr: unknown record type "FOO")'],
    ['--cname=a,b --cname=A,c', 'duplicate CNAME (--cname: "A" has a target already)'],
    ['--subscribers=10.0.0.0/8,b', 'try --help (--subscribers: "b" is not IP or IP/bits)'],
    ['--allow-notify=z', 'try --help (--allow-notify: "z" is not /zone/IP[/bits],…)'],
    ['--allow-notify=/z/', 'try --help (--allow-notify: "/z/" is not /zone/IP[/bits],…)'],
    ['--allow-notify=/a..b/::1', 'try --help (--allow-notify: bad zone: name "a..b": empty label)'],
    ['--allow-notify=/a/::/129', 'try --help (--allow-notify: "::/129" is not IP or IP/bits)'],
    ['--allow-notify=/a/10.0.0.1,b', 'try --help (--allow-notify: "b" is not IP or IP/bits)'],
  ])('is refused in dnsmasq’s words, with the option and the reason: %s', (line, message) => {
    const whole = `bad command line options: ${message}`;
    expect(() => parse(line)).toThrow(new StartupError(whole, 1));
  });

  it.each([
    ['--dhcp-range=1.2.3.4,1.2.3.5', 'dhcp-range'],
    ['--dhcp-rang=1.2.3.4,1.2.3.5', 'dhcp-range'],
    ['-F 1.2.3.4,1.2.3.5', 'dhcp-range'],
    ['--enable-tftp', 'enable-tftp'],
    ['--dnssec', 'dnssec'],
    ['--ipset=/x/y', 'ipset'],
    ['-k1', 'enable-dbus'],
  ])('has an option that is recognized and not supported: %s', (line, name) => {
    const whole = `bad command line options: unsupported option: --${name}`;
    expect(() => parse(line)).toThrow(new StartupError(whole, 1));
  });

  it.each([
    ['--cname=a,b --cname=b,a', 'CNAME loop involving b'],
    ['--cname=a,a', 'CNAME loop involving a'],
    ['--cname=c,A --cname=a,b --cname=b,c', 'CNAME loop involving b'],
    ['--cname=a,b --cname=b,c --cname=c,b', 'CNAME loop involving c'],
    ['--cname=a,b --dns-rr=a,5,017a00 --cname=b,a', 'CNAME loop involving b'],
    ['--dns-rr=a,5,016100', 'CNAME loop involving a'],
    ['--stale=1 --use-stale-cache', '--stale and --use-stale-cache: only one of them can be given'],
    ['-n -r /a -r /b', 'only one resolv.conf file allowed in no-poll mode.'],
  ])('has options that do not go together: %s', (line, message) => {
    expect(() => parse(line)).toThrow(new StartupError(message, 1));
  });
});

describe('the table of options', () => {
  const every = [...KNOWN_OPTIONS, ...UNSUPPORTED_OPTIONS];

  it('has each name and each letter once', () => {
    const names = every.map(({ name }) => name);
    const letters = every.map(({ short }) => short).filter((short) => short !== '');
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(letters).size).toBe(letters.length);
  });

  it('is complete in the help text', () => {
    const lines = optionsText().split('\n');
    for (const { name, help } of KNOWN_OPTIONS) {
      expect(lines).toContainEqual(expect.stringMatching(`--${name}\\b`));
      expect(optionsText()).toContain(help);
    }
  });
});
