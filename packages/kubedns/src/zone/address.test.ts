import { SocketAddress } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { addressBytes, encodeKey, TYPE } from '@kube-dns/wire';
import fc from 'fast-check';
import { addressType, readReverseName, writeIpv6Text } from './address.js';

describe('addressType', () => {
  it('is A for four bytes and AAAA for sixteen', () => {
    expect([4, 16].map(addressType)).toEqual([TYPE.A, TYPE.AAAA]);
  });
});

describe('readReverseName', () => {
  /** The address that a reverse name asks for, in hex; empty for none. */
  function read(name: string): string {
    const key = encodeKey(name);
    const out = new Uint8Array(16);
    return Buffer.from(out.subarray(0, readReverseName(key, key.length, out))).toString('hex');
  }

  const SIX = 'b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa';

  it.each([
    ['254.0.0.10.in-addr.arpa', '0a0000fe'],
    ['0.0.0.0.in-addr.arpa', '00000000'],
    ['255.255.255.255.In-Addr.ARPA', 'ffffffff'],
    [SIX, '20010db80000000000000000056789ab'],
    [SIX.toUpperCase(), '20010db80000000000000000056789ab'],
  ])('reads %s', (name, hex) => {
    expect(read(name)).toBe(hex);
  });

  it.each([
    'in-addr.arpa',
    '0.0.10.in-addr.arpa',
    '1.0.0.0.10.in-addr.arpa',
    '01.0.0.10.in-addr.arpa',
    '256.0.0.10.in-addr.arpa',
    'a.0.0.10.in-addr.arpa',
    '-1.0.0.10.in-addr.arpa',
    '1000.0.0.10.in-addr.arpa',
    '1.0.0.10.xin-addr.arpa',
    'ip6.arpa',
    SIX.slice(2),
    `0.${SIX}`,
    SIX.replace('b', 'g'),
    SIX.replace('b.a', 'ba'),
    SIX.replace('b.a', 'b\\001a'),
    'example.com',
    'arpa',
    '.',
  ])('does not take %s for an address', (name) => {
    expect(read(name)).toBe('');
  });
});

describe('writeIpv6Text', () => {
  it('writes what Node takes for the canonical text', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const bytes = Buffer.from(addressBytes(text)).toString('latin1');
        const out = Buffer.alloc(39);
        const written = out.toString('latin1', 0, writeIpv6Text(bytes, 0, out));
        // Node writes some addresses in part as IPv4; those are another way to say the same.
        const canonical = new SocketAddress({ address: text, family: 'ipv6' }).address;
        if (!canonical.includes('.')) expect(written).toBe(canonical);
        expect([...addressBytes(written)]).toEqual([...addressBytes(text)]);
      }),
    );
  });

  it.each([
    '::',
    '::1',
    '1::',
    '1:0:0:2::3',
    '1::2:0:0:3:4',
    '0:1::',
    'fd00::a:b',
    '1:2:3:4:5:6:7:8',
  ])('writes %s as it is', (text) => {
    const out = Buffer.alloc(39);
    const bytes = Buffer.from(addressBytes(text)).toString('latin1');
    expect(out.toString('latin1', 0, writeIpv6Text(bytes, 0, out))).toBe(text);
  });
});
