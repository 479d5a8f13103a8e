import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { decodeName } from '@kube-dns/wire';
import { parseOptions } from './parse-options.js';

const CAA = 257;
const TYPES: Readonly<Record<number, string>> = {
  1: 'A',
  5: 'CNAME',
  12: 'PTR',
  15: 'MX',
  16: 'TXT',
  28: 'AAAA',
  33: 'SRV',
  35: 'NAPTR',
  [CAA]: 'CAA',
};

/** The records of a command line as `owner TYPE hex`, with the TTL if they have one. */
function read(...argv: string[]): string[] {
  return parseOptions(argv).records.map(({ owner, type, ttlSeconds, rdata }) => {
    const ttl = ttlSeconds === undefined ? '' : ` ${ttlSeconds}`;
    const data = Buffer.from(rdata).toString('latin1');
    return `${decodeName(owner)} ${TYPES[type] ?? type}${ttl} ${JSON.stringify(data)}`;
  });
}

describe('a static record', () => {
  it.each<[string, string[]]>([
    [
      '--host-record=H.example,h,1.2.3.4,::1,60',
      [
        'h.example A 60 "\\u0001\\u0002\\u0003\\u0004"',
        'h A 60 "\\u0001\\u0002\\u0003\\u0004"',
        '4.3.2.1.in-addr.arpa PTR 60 "\\u0001H\\u0007example\\u0000"',
        `h.example AAAA 60 ${JSON.stringify('\0'.repeat(15) + '\u0001')}`,
        `h AAAA 60 ${JSON.stringify('\0'.repeat(15) + '\u0001')}`,
        `${'1.' + '0.'.repeat(31)}ip6.arpa PTR 60 "\\u0001H\\u0007example\\u0000"`,
      ],
    ],
    ['--cname=a,B,T,9', ['a CNAME 9 "\\u0001T\\u0000"', 'b CNAME 9 "\\u0001T\\u0000"']],
    ['--txt-record=t,one,two', ['t TXT "\\u0003one\\u0003two"']],
    ['--txt-record=t', ['t TXT "\\u0000"']],
    ['--ptr-record=p,t', ['p PTR "\\u0001t\\u0000"']],
    ['--mx-host=m,t,5', ['m MX "\\u0000\\u0005\\u0001t\\u0000"']],
    ['--mx-host=m,t', ['m MX "\\u0000\\u0001\\u0001t\\u0000"']],
    ['--srv-host=s,t,80,1,2', ['s SRV "\\u0000\\u0001\\u0000\\u0002\\u0000P\\u0001t\\u0000"']],
    ['--srv-host=s', ['s SRV "\\u0000\\u0000\\u0000\\u0000\\u0000\\u0001\\u0000"']],
    [
      '--naptr-record=n,1,2,u,E2U,!x!',
      ['n NAPTR "\\u0000\\u0001\\u0000\\u0002\\u0001u\\u0003E2U\\u0003!x!\\u0000"'],
    ],
    ['--caa-record=c,128,issue,ca.example', ['c CAA "\x80\\u0005issueca.example"']],
    ['--dns-rr=r,5,01:74:00', ['r CNAME "\\u0001t\\u0000"']],
    ['--dns-rr=r,99,01:23:ab', ['r 99 "\\u0001#«"']],
  ])('is read: %s', (argument, records) => {
    expect(read(argument)).toEqual(records);
  });

  it('of long texts has several strings of each', () => {
    const texts = ['x'.repeat(255), '', `${'y'.repeat(255)}z`, 'é'.repeat(300), 'end'];
    const [record] = parseOptions([`--txt-record=t,${texts.join()}`]).records;
    const strings = texts.flatMap((text) => {
      const bytes = [...Buffer.from(text)];
      const pieces = Array.from({ length: Math.ceil(bytes.length / 255) || 1 }, (_, i) =>
        bytes.slice(i * 255, (i + 1) * 255),
      );
      return pieces.flatMap((piece) => [piece.length, ...piece]);
    });
    expect([...record!.rdata]).toEqual(strings);
  });

  it('of MX without a target gets that of --mx-target, as does this machine', () => {
    expect(read('--mx-target=t', '--mx-host=m')).toEqual([
      'm MX "\\u0000\\u0001\\u0001t\\u0000"',
      `${hostname().toLowerCase()} MX "\\u0000\\u0000\\u0001t\\u0000"`,
    ]);
  });

  it('of SRV without a domain gets that of --domain', () => {
    expect(read('--domain=x', '--srv-host=_a._b,t,1')[0]).toMatch(/^_a\._b\.x SRV/);
  });

  it.each([
    ['--host-record=a', 'Bad host-record'],
    ['--host-record=1.2.3.4', 'Bad host-record'],
    ['--cname=a', 'bad CNAME'],
    ['--mx-host=a,b,70000', 'bad MX preference'],
    ['--srv-host=a,b,70000', 'invalid port number'],
    ['--srv-host=a,b,1,70000', 'invalid priority'],
    ['--srv-host=a,b,1,1,x', 'invalid weight'],
    ['--naptr-record=a', 'bad NAPTR record'],
    ['--naptr-record=a,x,1,a,b,c', 'bad NAPTR record'],
    ['--caa-record=a', 'bad CAA record'],
    ['--dns-rr=a,b', 'bad RR record'],
    ['--dns-rr=a,5,0161', 'bad RR record'],
    ['--dns-rr=a,5,c00c', 'bad RR record'],
    ['--dns-rr=a,5,016100ff', 'bad RR record'],
    ['--dns-rr=a,12', 'bad RR record'],
    ['--dns-rr=a,15,000103', 'bad RR record'],
    ['--dns-rr=a,33,0001000200030161', 'bad RR record'],
    ['--dns-rr=a,1,0102', 'bad RR record'],
    ['--interface-name=a', 'bad interface name'],
    ['--rev-server=1.2.3.0/33,1.1.1.1', 'bad IPv4 prefix length'],
    ['--rev-server=1::/129,1.1.1.1', 'bad IPv6 prefix length'],
    ['--alias=1', 'missing address in alias'],
    ['--alias=1.2.3.4-1.2.3.2,1.1.1.1', 'invalid alias range'],
    ['--bogus-nxdomain=x', 'try --help'],
    ['--ignore-address=1.2.3.4/40', 'try --help'],
  ])('is refused in dnsmasq’s words: %s', (argument, words) => {
    expect(() => parseOptions([argument])).toThrow(`bad command line options: ${words} (`);
  });

  const LONG = 'x'.repeat(64);

  it.each([
    ['the option', [`--mx-host=${LONG}`], '--mx-host: name'],
    ['what it is completed with', ['--mx-host=a', `--mx-target=${LONG}`], 'name'],
    ['the domain that it gets', [`--domain=${'d.'.repeat(125)}d`, '--srv-host=_a._b'], 'name'],
  ])(
    'is refused for a name that is too long, also where that shows late: %s',
    (_where, argv, about) => {
      expect(() => parseOptions(argv)).toThrow(
        expect.objectContaining({
          name: 'StartupError',
          message: expect.stringContaining(`bad command line options: try --help (${about}`),
        }),
      );
    },
  );
});

describe('--rev-server', () => {
  it.each<[string, string[]]>([
    ['1.2.3.4', ['4.3.2.1.in-addr.arpa']],
    ['10.0.0.0/8', ['10.in-addr.arpa']],
    ['10.1.0.0/15', ['0.10.in-addr.arpa', '1.10.in-addr.arpa']],
    ['10.1.7.0/22', ['4', '5', '6', '7'].map((label) => `${label}.1.10.in-addr.arpa`)],
    ['fd00::/8', ['d.f.ip6.arpa']],
    ['fd00::/7', ['c.f.ip6.arpa', 'd.f.ip6.arpa']],
  ])('is a server of the reverse zones: %s', (range, zones) => {
    const [rule] = parseOptions([`--rev-server=${range},1.1.1.1#5353`]).serverRules;
    expect(rule!.domains.map((zone) => decodeName(zone))).toEqual(zones);
    expect(rule!.target).toEqual({ kind: 'server', server: { address: '1.1.1.1', port: 5353 } });
  });

  it('may be an encrypted server', () => {
    const [rule] = parseOptions(['--rev-server=10.0.0.0/8,https://1.1.1.1/dns-query']).serverRules;
    const encryption = { protocol: 'https', name: '1.1.1.1', path: '/dns-query' };
    expect(rule!.target).toMatchObject({ server: { address: '1.1.1.1', port: 443, encryption } });
  });

  it('has local zones without a server', () => {
    expect(parseOptions(['--rev-server=10.0.0.0/8']).serverRules[0]!.target.kind).toBe('local');
  });
});
