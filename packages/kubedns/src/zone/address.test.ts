import { SocketAddress } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { decodeName, encodeRdata, TYPE } from '@kube-dns/wire';
import fc from 'fast-check';
import { addressBytes, addressType, reverseName } from './address.js';

const addresses = fc.oneof(fc.ipV4(), fc.ipV6());

/** The bytes of an address by another way: dns-packet's. */
function bytesOf(text: string): number[] {
  const type = text.includes(':') ? 'AAAA' : 'A';
  const canonical =
    type === 'A' ? text : new SocketAddress({ address: text, family: 'ipv6' }).address;
  return [...encodeRdata({ type, name: '.', data: canonical })];
}

describe('addressBytes', () => {
  it('reads every spelling of an address', () => {
    fc.assert(
      fc.property(addresses, (text) => {
        expect([...addressBytes(text)]).toEqual(bytesOf(text));
      }),
    );
  });

  it.each([
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['1::', '00010000000000000000000000000000'],
    ['fd00::a:b', 'fd0000000000000000000000000a000b'],
    ['::ffff:1.2.3.4', '00000000000000000000ffff01020304'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['10.0.255.1', '0a00ff01'],
  ])('reads %s', (text, hex) => {
    expect(Buffer.from(addressBytes(text)).toString('hex')).toBe(hex);
  });
});

describe('addressType', () => {
  it('is A for four bytes and AAAA for sixteen', () => {
    expect([addressBytes('1.2.3.4'), addressBytes('::1')].map(addressType)).toEqual([
      TYPE.A,
      TYPE.AAAA,
    ]);
  });
});

describe('reverseName', () => {
  it.each([
    ['10.0.0.254', '254.0.0.10.in-addr.arpa'],
    [
      '2001:db8::567:89ab',
      'b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
    ],
  ])('turns %s round', (text, name) => {
    expect(decodeName(reverseName(addressBytes(text)))).toBe(name);
  });

  it('holds the whole address', () => {
    fc.assert(
      fc.property(addresses, (text) => {
        const labels = decodeName(reverseName(addressBytes(text)))
          .split('.')
          .reverse()
          .slice(2);
        const bytes =
          labels.length === 4 ? labels.map(Number) : [...Buffer.from(labels.join(''), 'hex')];
        expect(bytes).toEqual(bytesOf(text));
      }),
    );
  });
});
