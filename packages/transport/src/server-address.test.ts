import { networkInterfaces } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addressText } from '@kube-dns/wire';
import {
  copyAddress,
  isLoopback,
  isOwnAddress,
  parseResolvConf,
  serverKey,
  serverText,
} from './server-address.js';

const TLS = { protocol: 'tls', path: '' } as const;
const HTTPS = { protocol: 'https', name: 'dns.example', path: '/dns-query' } as const;

describe('serverText', () => {
  it('writes a server as dnsmasq does', () => {
    expect(serverText({ address: '127.0.0.1', port: 10_053 })).toBe('127.0.0.1#10053');
    expect(serverText({ address: '::1', port: 53 })).toBe('::1#53');
  });

  it('writes an encrypted server as it is configured, with its address', () => {
    const server = { address: '192.0.2.1', port: 853 };
    const texts = [{ ...TLS, name: '192.0.2.1' }, { ...TLS, name: 'dns.example' }, HTTPS].map(
      (encryption) => serverText({ ...server, encryption }),
    );
    expect(texts).toEqual([
      'tls://192.0.2.1#853',
      'tls://192.0.2.1#853%dns.example',
      'https://dns.example/dns-query (192.0.2.1#853)',
    ]);
  });

  it('shows nothing of what a URL has after its `?`; servers differ by it', () => {
    const encryption = { ...HTTPS, path: '/dns-query?token=hunter2' };
    const server = { address: '192.0.2.1', port: 443, encryption };
    expect(serverText(server)).toBe('https://dns.example/dns-query (192.0.2.1#443)');
    expect(serverKey(server)).toBe('https://dns.example/dns-query?token=hunter2 (192.0.2.1#443)');
  });
});

const at = (address: string, port = 53) => ({ address, port });
const ofThisMachine = Object.values(networkInterfaces())
  .flat()
  .flatMap((each) => each?.address ?? []);

describe('isOwnAddress', () => {
  it.each([
    ['the same address', at('10.0.0.1'), at('10.0.0.1'), true],
    ['another port', at('10.0.0.1', 54), at('10.0.0.1'), false],
    ['another address', at('10.0.0.2'), at('10.0.0.1'), false],
    ['another spelling', at('FD00:0::1'), at('fd00::1'), true],
    ['a wildcard', at('0.0.0.0'), at('10.0.0.1'), true],
    ['loopback when it listens on all', at('127.0.0.53'), at('0.0.0.0'), true],
    ['loopback when it listens on all of both families', at('127.0.0.1'), at(''), true],
    ['IPv4 in IPv6 when it listens on all of both families', at('::ffff:7f00:1'), at(''), true],
    ['IPv6 when it listens on all of IPv4', at('::1'), at('0.0.0.0'), false],
    ['IPv4 when it listens on all of IPv6', at('127.0.0.1'), at('::'), false],
    ['a wildcard of the other family', at('0.0.0.0'), at('::'), false],
    ['an address that this machine does not have', at('192.0.2.1'), at('0.0.0.0'), false],
  ])('judges %s', (_what, server, own, isOwn) => {
    expect(isOwnAddress(server, [own])).toBe(isOwn);
  });

  it('knows every address of this machine when it listens on all', () => {
    expect(ofThisMachine.filter((address) => !isOwnAddress(at(address), [at('')]))).toEqual([]);
  });
});

it.each([
  ['127.0.0.1', true],
  ['127.255.0.9', true],
  ['::1', true],
  ['0:0:0:0:0:0:0:1', true],
  ['10.127.0.1', false],
  ['::', false],
  ['::2', false],
  ['fe80::1', false],
  ['::ffff:127.0.0.1', false],
  ['127.example', false],
])('the address %s is of the loopback interface: %s', (address, expected) => {
  expect(isLoopback(address)).toBe(expected);
});

describe('parseResolvConf', () => {
  it('reads the name servers in their order', () => {
    const text = 'search x\nnameserver 10.0.0.2\noptions ndots:5\nnameserver 2001:db8::1\n';
    expect(parseResolvConf(text)).toEqual([
      { address: '10.0.0.2', port: 53 },
      { address: '2001:db8::1', port: 53 },
    ]);
  });

  it('reads more than three', () => {
    const lines = [1, 2, 3, 4].map((i) => `nameserver 10.0.0.${i}`);
    expect(parseResolvConf(lines.join('\n'))).toHaveLength(4);
  });

  it.each([
    ['tabs and blanks', '  nameserver\t \t10.0.0.1  '],
    ['CRLF', 'nameserver 10.0.0.1\r\n'],
    ['a comment behind', 'nameserver 10.0.0.1 # mine'],
    ['no newline at the end', 'search x\nnameserver 10.0.0.1'],
  ])('reads a line with %s', (_, text) => {
    expect(parseResolvConf(text)).toEqual([{ address: '10.0.0.1', port: 53 }]);
  });

  it('reads the lines of other keywords where they are given', () => {
    const text = 'server 10.0.0.1 x\nnameserver 10.0.0.2\nservers 10.0.0.3\nserver=10.0.0.4';
    expect(parseResolvConf(text)).toEqual([{ address: '10.0.0.2', port: 53 }]);
    const servers = parseResolvConf(text, ['nameserver', 'server']);
    expect(servers.map(({ address }) => address)).toEqual(['10.0.0.1', '10.0.0.2']);
  });

  it('keeps a scoped address', () => {
    expect(parseResolvConf('nameserver fe80::1%eth0')[0]?.address).toBe('fe80::1%eth0');
  });

  it.each([
    ['nothing', ''],
    ['a comment', '# nameserver 10.0.0.1\n; nameserver 10.0.0.2\n#nameserver 10.0.0.3'],
    ['a name', 'nameserver dns.example'],
    ['no value', 'nameserver\nnameserver '],
    ['a port', 'nameserver 10.0.0.1:53'],
    ['another keyword', 'nameservers 10.0.0.1\nNameserver 10.0.0.1'],
  ])('finds no server in %s', (_, text) => {
    expect(parseResolvConf(text)).toEqual([]);
  });
});

function copied(text: string): string {
  const to = new Uint8Array(20).fill(0xee);
  const count = copyAddress(text, to, 2);
  return addressText(to.subarray(2, 2 + count));
}

describe('copyAddress', () => {
  it('writes an IPv4 address, also one in IPv6', () => {
    fc.assert(
      fc.property(fc.ipV4(), (text) => {
        expect([copied(text), copied(`::ffff:${text}`)]).toEqual([text, text]);
      }),
    );
  });

  it.each(['2001:db8::1', 'fe80::1', '::1'])('writes %s', (text) => {
    expect(copied(text)).toBe(text);
  });

  it.each(['', '1.2.3', '1.2.3.4.5', '1.2.3.256', '01.2.3.4', '1..2.3', 'a.b.c.d', '1.2.3.'])(
    'finds no address in %j',
    (text) => {
      expect(copyAddress(text, new Uint8Array(20), 0)).toBe(0);
    },
  );
});
