import { describe, expect, it } from '@jest/globals';
import { serverText } from '@kube-dns/transport';
import { decodeName } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { parseServer, parseServerRule } from './server-value.js';

function read(value: string): [domains: string[], target: string] {
  const { domains, target } = parseServerRule(value);
  const text = target.kind === 'server' ? serverText(target.server) : target.kind;
  return [domains.map((domain) => decodeName(domain)), text];
}

describe('a server without a domain', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4#53'],
    ['1.2.3.4#5353', '1.2.3.4#5353'],
    ['::1', '::1#53'],
    ['::1#5353', '::1#5353'],
    ['2001:db8::1:53', '2001:db8::1:53#53'],
    ['fe80::1%eth0', 'fe80::1%eth0#53'],
    ['fe80::1%eth0#5353', 'fe80::1%eth0#5353'],
    ['[::1]', '::1#53'],
    ['[::1]#5353', '::1#5353'],
    ['[::1]:5353', '::1#5353'],
    ['1.2.3.4:5353', '1.2.3.4#5353'],
    ['1.2.3.4#65535', '1.2.3.4#65535'],
    ['#', 'default'],
    ['', 'local'],
  ])('is read: %j', (value, target) => {
    expect(read(value)).toEqual([[], target]);
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

describe('a value that is no server', () => {
  it.each([
    ['ns.example.com', 'bad server address "ns.example.com"'],
    ['/corp/ns.example.com', 'bad server address "ns.example.com"'],
    ['1.2.3', 'bad server address "1.2.3"'],
    ['1.2.3.4#', 'bad server address "1.2.3.4#"'],
    ['1.2.3.4#0', 'bad server address "1.2.3.4#0"'],
    ['1.2.3.4#70000', 'bad server address "1.2.3.4#70000"'],
    ['1.2.3.4#abc', 'bad server address "1.2.3.4#abc"'],
    ['1.2.3.4:', 'bad server address "1.2.3.4:"'],
    ['1.2.3.4@eth0', 'bad server address "1.2.3.4@eth0"'],
    ['[1.2.3.4]:53', 'bad server address "[1.2.3.4]:53"'],
    ['[::1', 'bad server address "[::1"'],
    ['2001:db8:0:0:0:0:0:1:53', 'bad server address "2001:db8:0:0:0:0:0:1:53"'],
    ['/corp', 'bad server "/corp": no domain'],
    ['/', 'bad server "/": no domain'],
    ['//1.2.3.4', 'unsupported domain "" in a server'],
    ['/corp//1.2.3.4', 'unsupported domain "" in a server'],
    ['/*corp/1.2.3.4', 'unsupported domain "*corp" in a server'],
    ['/a..b/1.2.3.4', 'bad domain: name "a..b": empty label'],
    [`/${'x'.repeat(64)}/1.2.3.4`, 'label longer than 63 bytes'],
  ])('is refused: %s', (value, message) => {
    expect(() => parseServerRule(value)).toThrow(OptionError);
    expect(() => parseServerRule(value)).toThrow(message);
  });

  it('is undefined for the reader of a bare server', () => {
    expect(parseServer('localhost')).toBeUndefined();
    expect(parseServer('')).toBeUndefined();
  });
});
