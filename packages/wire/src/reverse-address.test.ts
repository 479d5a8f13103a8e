import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addressBytes } from './address.js';
import { encodeKey } from './name.js';
import { encodeReverseName, ReverseAddress, reverseName } from './reverse-address.js';

describe('ReverseAddress', () => {
  const reverse = new ReverseAddress();

  function read(name: string): ReverseAddress {
    const key = encodeKey(name);
    return reverse.read(key, key.length);
  }

  function hex({ bytes, size }: ReverseAddress): string {
    return Buffer.from(bytes.subarray(0, size)).toString('hex');
  }

  const SIX = 'b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa';

  it.each([
    ['254.0.0.10.in-addr.arpa', '0a0000fe'],
    ['0.0.0.0.in-addr.arpa', '00000000'],
    ['255.255.255.255.In-Addr.ARPA', 'ffffffff'],
    [SIX, '20010db80000000000000000056789ab'],
    [SIX.toUpperCase(), '20010db80000000000000000056789ab'],
  ])('reads %s', (name, address) => {
    expect(hex(read(name))).toBe(address);
    expect(reverse).toMatchObject({ isWhole: true, isCanonical: true });
  });

  it.each([
    ['10.in-addr.arpa', '0a000000'],
    ['0.10.in-addr.arpa', '0a000000'],
    ['3.2.10.in-addr.arpa', '0a020300'],
    ['d.f.ip6.arpa', `fd${'0'.repeat(30)}`],
    ['1.d.f.ip6.arpa', `fd1${'0'.repeat(29)}`],
    [SIX.slice(2), '20010db80000000000000000056789a0'],
  ])('reads of %s how the addresses begin', (name, address) => {
    expect(hex(read(name))).toBe(address);
    expect(reverse).toMatchObject({ isWhole: false, isCanonical: false });
  });

  it.each(['01.0.0.10.in-addr.arpa', '1.00.0.10.in-addr.arpa'])(
    'reads numbers with zeros in front, which nothing canonical has: %s',
    (name) => {
      expect(hex(read(name))).toMatch(/^0a0000/);
      expect(reverse).toMatchObject({ isWhole: true, isCanonical: false });
    },
  );

  it.each([
    'in-addr.arpa',
    '1.0.0.0.10.in-addr.arpa',
    '256.0.0.10.in-addr.arpa',
    'a.0.0.10.in-addr.arpa',
    '-1.0.0.10.in-addr.arpa',
    '1000.0.0.10.in-addr.arpa',
    '1.0.0.10.xin-addr.arpa',
    'ip6.arpa',
    `0.${SIX}`,
    SIX.replace('b', 'g'),
    SIX.replace('b.a', 'ba'),
    SIX.replace('b.a', 'b\\001a'),
    'example.com',
    'arpa',
    '\\007in-addr.arpa',
    '.',
  ])('does not take %s for an address', (name) => {
    expect(read(name)).toMatchObject({ size: 0, isWhole: false, isCanonical: false });
  });

  it('reads what reverseName writes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const { bytes, size, isCanonical } = read(reverseName(addressBytes(text)));
        expect(isCanonical).toBe(true);
        expect([...bytes.subarray(0, size)]).toEqual([...addressBytes(text)]);
      }),
    );
  });
});

describe('encodeReverseName', () => {
  it('writes the wire form of what reverseName writes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const address = addressBytes(text);
        expect([...encodeReverseName(address)]).toEqual([...encodeKey(reverseName(address))]);
      }),
    );
  });
});

describe('reverseName', () => {
  it.each([
    ['192.0.2.1', 32, '1.2.0.192.in-addr.arpa'],
    ['192.0.2.1', 16, '0.192.in-addr.arpa'],
    ['fd00::1', 128, `1.${'0.'.repeat(29)}d.f.ip6.arpa`],
    ['fd00::1', 12, '0.d.f.ip6.arpa'],
  ])('writes of %s the first %i bits', (address, bits, name) => {
    expect(reverseName(addressBytes(address), bits)).toBe(name);
  });
});
