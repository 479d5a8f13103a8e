import { describe, expect, it } from '@jest/globals';
import { serverText } from '@kube-dns/transport';
import { decodeName } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { parseAddressRule, parseServer, parseServerRule } from './server-value.js';

function read(value: string): [domains: string[], target: string] {
  const { domains, target } = parseServerRule(value);
  let text: string = target.kind;
  if (target.kind === 'server') text = serverText(target.server);
  if (target.kind === 'named-server') {
    text = `named ${serverText({ ...target.server, address: target.server.host })}`;
  }
  return [domains.map((domain) => decodeName(domain)), text];
}

describe('a server without a domain', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4#53'],
    ['1.2.3.4#5353', '1.2.3.4#5353'],
    ['::1', '::1#53'],
    ['::1#5353', '::1#5353'],
    ['2001:db8::1:53', '2001:db8::1:53#53'],
    ['fe80::1%lo', 'fe80::1%lo#53'],
    ['fe80::1%lo#5353', 'fe80::1%lo#5353'],
    ['[::1]', '::1#53'],
    ['[::1]#5353', '::1#5353'],
    ['[::1]:5353', '::1#5353'],
    ['1.2.3.4:5353', '1.2.3.4#5353'],
    ['1.2.3.4#65535', '1.2.3.4#65535'],
    ['#', 'default'],
    ['', 'local'],
    ['/', 'local'],
    ['ns.example.com', 'named ns.example.com#53'],
    ['ns.example.com.#5353', 'named ns.example.com#5353'],
    ['localhost', 'named localhost#53'],
  ])('is read: %j', (value, target) => {
    expect(read(value)).toEqual([['.'], target]);
  });
});

describe('a server with domains', () => {
  it.each<[string, string[], string]>([
    ['/cluster.local/127.0.0.1#10053', ['cluster.local'], '127.0.0.1#10053'],
    ['/a.example/b.example/1.2.3.4', ['a.example', 'b.example'], '1.2.3.4#53'],
    ['/Cluster.LOCAL./1.2.3.4', ['cluster.local'], '1.2.3.4#53'],
    ['/.corp/1.2.3.4', ['corp'], '1.2.3.4#53'],
    ['/..corp/1.2.3.4', ['corp'], '1.2.3.4#53'],
    ['/corp/[2001:db8::2]:10053', ['corp'], '2001:db8::2#10053'],
    ['/corp/ns.example.com', ['corp'], 'named ns.example.com#53'],
    ['/corp/', ['corp'], 'local'],
    ['/corp/lab/', ['corp', 'lab'], 'local'],
    ['/corp/#', ['corp'], 'default'],
    ['/#/1.2.3.4', ['.'], '1.2.3.4#53'],
    ['/#/', ['.'], 'local'],
    ['/_tcp.example/1.2.3.4', ['_tcp.example'], '1.2.3.4#53'],
  ])('is read: %s', (value, domains, target) => {
    expect(read(value)).toEqual([domains, target]);
  });
});

describe('an encrypted server', () => {
  it.each<[string, string[], string]>([
    ['tls://9.9.9.9', ['.'], 'tls://9.9.9.9#853'],
    ['/corp/tls://9.9.9.9#8853%dns.example', ['corp'], 'tls://9.9.9.9#8853%dns.example'],
    ['/a.example/b.example/tls://::1', ['a.example', 'b.example'], 'tls://::1#853'],
    ['/corp/tls://dns.example', ['corp'], 'named tls://dns.example#853'],
    ['https://9.9.9.9/dns-query', ['.'], 'https://9.9.9.9/dns-query (9.9.9.9#443)'],
    ['/corp/https://[::1]:8443/a/b', ['corp'], 'https://[::1]/a/b (::1#8443)'],
    ['/#/https://dns.example/q', ['.'], 'named https://dns.example/q (dns.example#443)'],
  ])('is read: %s', (value, domains, target) => {
    expect(read(value)).toEqual([domains, target]);
  });

  it.each([
    ['/corp/tls://9.9.9.9%dns.example@10.0.0.1', { address: '10.0.0.1' }],
    ['https://9.9.9.9/dns-query@eth0', { interface: 'eth0' }],
  ])('may have a source: %s', (value, source) => {
    expect(parseServerRule(value).target).toMatchObject({ kind: 'server', source });
  });

  it.each([
    ['/corp/tls://', 'bad server "tls://": the address is missing'],
    ['tls://9.9.9.9#0', 'bad server "tls://9.9.9.9#0": port 0 is not possible'],
    ['/corp/https://a.b', 'bad server "https://a.b": the path is missing, such as /dns-query'],
    [
      '/corp/quic://9.9.9.9',
      'bad server "quic://9.9.9.9": unknown scheme quic://, only tls:// and https:// are possible',
    ],
  ])('is refused with its text and the reason: %s', (value, message) => {
    expect(() => parseServerRule(value)).toThrow(new OptionError(message));
  });
});

describe('the domains of a rule', () => {
  const wildcards = (value: string) =>
    parseServerRule(value).wildcards?.map(
      ({ labelEnd, parent }) => `${Buffer.from(labelEnd).toString()}|${decodeName(parent)}`,
    );

  it.each<[string, string[] | undefined]>([
    ['/*Wild.Com/1.2.3.4', ['wild|com']],
    ['/*.dom/1.2.3.4', ['|dom']],
    ['/*/1.2.3.4', ['|.']],
    ['/*.a.b/x/*c/1.2.3.4', ['|a.b', 'c|.']],
    ['/a*b/1.2.3.4', undefined],
  ])('may be wildcards: %s', (value, expected) => {
    expect(wildcards(value)).toEqual(expected);
  });

  it.each([
    ['//1.2.3.4', [], true],
    ['//', [], true],
    ['/corp//1.2.3.4', ['corp'], true],
    ['/corp/1.2.3.4', ['corp'], undefined],
  ])('may be the names of one label: %s', (value, domains, isUnqualified) => {
    expect(read(value)[0]).toEqual(domains);
    expect(parseServerRule(value).isUnqualified).toBe(isUnqualified);
  });
});

describe('the source of a server', () => {
  it.each([
    ['1.2.3.4@10.0.0.1', { address: '10.0.0.1' }],
    ['1.2.3.4#5353@10.0.0.1#99', { address: '10.0.0.1', port: 99 }],
    ['1.2.3.4@eth0', { interface: 'eth0' }],
    ['1.2.3.4@eth0@10.0.0.1#99', { interface: 'eth0', address: '10.0.0.1', port: 99 }],
    ['::1@fd00::1', { address: 'fd00::1' }],
    ['ns.example@eth0', { interface: 'eth0' }],
  ])('is read: %s', (value, source) => {
    expect(parseServerRule(value).target).toMatchObject({ source });
  });

  it('is left out where there is none', () => {
    expect(parseServerRule('1.2.3.4').target).not.toHaveProperty('source');
  });
});

describe('a value that is no server', () => {
  it.each([
    ['1.2.3', 'bad server address "1.2.3"', 'Name or service not known'],
    ['/corp', 'bad server address "/corp"', 'Name or service not known'],
    ['1.2.3.4#', 'bad port ""', 'bad port'],
    ['fe80::1%nope', 'no interface "nope"', 'bad interface name'],
    ['1.2.3.4#0', 'port 0 of 1.2.3.4 cannot be asked', 'bad port'],
    ['1.2.3.4#70000', 'bad port "70000"', 'bad port'],
    ['1.2.3.4#abc', 'bad port "abc"', 'bad port'],
    ['1.2.3.4@10.0.0.1#abc', 'bad port "abc"', 'bad port'],
    ['1.2.3.4:', 'bad server address "1.2.3.4:"', 'Name or service not known'],
    ['[1.2.3.4]', 'bad server address "[1.2.3.4]"', 'Name or service not known'],
    ['[::1', 'bad server address "[::1"', 'Name or service not known'],
    ['1.2.3.4 ', 'bad server address "1.2.3.4 "', 'Name or service not known'],
    [
      '1.2.3.4@::1',
      'source ::1 of server 1.2.3.4',
      'cannot use IPv4 server address with IPv6 source address',
    ],
    [
      '::1@1.2.3.4',
      'source 1.2.3.4 of server ::1',
      'cannot use IPv6 server address with IPv4 source address',
    ],
    ['/a..b/1.2.3.4', 'bad domain: name "a..b": empty label', undefined],
  ])('is refused, in dnsmasq’s words where it has some: %s', (value, message, words) => {
    const error = new OptionError(message, words);
    expect(() => parseServerRule(value)).toThrow(error);
    expect(() => parseServerRule(value)).toThrow(expect.objectContaining({ words }));
  });

  it('is undefined for the reader of a bare server', () => {
    expect(parseServer('localhost')).toBeUndefined();
    expect(parseServer('')).toBeUndefined();
  });
});

describe('an address for domains', () => {
  it.each([
    ['/a.example/1.2.3.4', { address: Uint8Array.of(1, 2, 3, 4) }],
    ['/a.example/::1', { address: Uint8Array.of(...new Array<number>(15).fill(0), 1) }],
    ['/a.example/#', { address: 'zeros' }],
    ['/a.example/', { target: { kind: 'local' } }],
    ['1.2.3.4', { domains: [Uint8Array.of(0)], address: Uint8Array.of(1, 2, 3, 4) }],
    ['//1.2.3.4', { isUnqualified: true, domains: [] }],
  ])('is read: %s', (value, expected) => {
    expect(parseAddressRule(value)).toMatchObject(expected);
  });

  it.each(['/x', 'x', '/x/1.2.3', '/x/1.2.3.4#53', '/x/fe80::1%eth0'])(
    'is refused: %s',
    (value) => {
      expect(() => parseAddressRule(value)).toThrow(
        expect.objectContaining({ words: 'Bad address in --address' }),
      );
    },
  );
});

describe('a refused server with a password', () => {
  it.each([
    'https://user:hunter2@127.0.0.1/dns-query',
    '/a.b/tls://user:hunter2@127.0.0.1',
    'user:hunter2@127.0.0.1',
    'https://user:hunter2@ns.example/{}',
  ])('is quoted without it: %s', (value) => {
    expect(() => parseServerRule(value)).toThrow(OptionError);
    expect(() => parseServerRule(value)).toThrow(/^(?!.*(?:hunter2|user))/);
  });
});
