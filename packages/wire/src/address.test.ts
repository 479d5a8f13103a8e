import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  addressBytes,
  addressText,
  bindAddress,
  EVERY_ADDRESS,
  hasPrefix,
  parseAddress,
  shortIpv6,
  unmappedAddress,
} from './address.js';
import { encodeRdata } from './packet.js';

const addresses = fc.oneof(fc.ipV4(), fc.ipV6());

/** The bytes of an address by another way: dns-packet's. */
function bytesOf(text: string): number[] {
  const type = text.includes(':') ? 'AAAA' : 'A';
  const data = type === 'A' ? text : shortIpv6(text);
  return [...encodeRdata({ type, name: '.', data })];
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

describe('addressText', () => {
  it('writes what was read, in its shortest spelling', () => {
    fc.assert(
      fc.property(addresses, (text) => {
        const shortest = text.includes(':') ? shortIpv6(text) : text;
        expect(addressText(addressBytes(text))).toBe(shortest);
      }),
    );
  });

  it('shortens zeros as the system does', () => {
    const group = fc.oneof(fc.constantFrom(0, 0, 1, 0xffff), fc.nat(0xffff));
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const bytes = Uint8Array.from(groups.flatMap((each) => [each >> 8, each & 0xff]));
        const whole = groups.map((each) => each.toString(16)).join(':');
        expect(addressText(bytes)).toBe(shortIpv6(whole));
      }),
      { numRuns: 2_000 },
    );
    for (const text of [
      '::',
      '::1',
      '::9',
      '::100',
      '::1:0',
      '::0.1.0.1',
      '::ffff:0:9',
      '::fffe:1:2',
    ]) {
      expect(addressText(addressBytes(text))).toBe(shortIpv6(text));
    }
  });

  it.each([
    ['10.0.255.1', '10.0.255.1'],
    ['2001:DB8:0:0:1:0:0:0', '2001:db8:0:0:1::'],
    ['::ffff:102:304', '::ffff:1.2.3.4'],
    ['0:0:0:0:0:0:0:0', '::'],
  ])('writes %s as %s', (text, shortest) => {
    expect(addressText(addressBytes(text))).toBe(shortest);
  });
});

describe('parseAddress', () => {
  it('reads any address, and ignores its zone', () => {
    fc.assert(
      fc.property(addresses, (text) => {
        expect(parseAddress(text)).toEqual(addressBytes(text));
      }),
    );
    expect(parseAddress('fe80::1%eth0')).toEqual(addressBytes('fe80::1'));
  });

  it.each([
    '',
    '10.0.0',
    '10.0.0.256',
    '010.0.0.1',
    '1.2.3.4%eth0',
    '::1::',
    ':::',
    'a',
    '10.0.0.0/8',
  ])('refuses %j', (text) => expect(parseAddress(text)).toBeUndefined());
});

describe('hasPrefix', () => {
  it.each([
    ['10.1.2.3', '10.0.0.0', 8, true],
    ['11.1.2.3', '10.0.0.0', 8, false],
    ['172.31.0.1', '172.16.0.0', 12, true],
    ['172.32.0.1', '172.16.0.0', 12, false],
    ['192.0.2.1', '192.0.2.1', 32, true],
    ['192.0.2.0', '192.0.2.1', 32, false],
    ['192.0.2.1', '0.0.0.0', 0, true],
    ['febf::1', 'fe80::', 10, true],
    ['fec0::1', 'fe80::', 10, false],
  ])('of %s and the prefix %s/%i: %s', (text, prefix, bits, expected) => {
    const bytes = Uint8Array.of(0xff, ...addressBytes(text));
    expect(hasPrefix(bytes, 1, addressBytes(prefix), bits)).toBe(expected);
  });
});

describe('bindAddress', () => {
  it.each(['', '0.0.0.0', '::', '[::]'])('takes %j for every address', (text) => {
    expect(bindAddress(text)).toBe(EVERY_ADDRESS);
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['localhost', 'localhost'],
  ])('takes %s for %s', (text, address) => {
    expect(bindAddress(text)).toBe(address);
  });
});

describe('unmappedAddress', () => {
  it.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:1', '::ffff:1'],
    ['::1', '::1'],
    ['fe80::1%eth0.1', 'fe80::1%eth0.1'],
    ['', ''],
  ])('of %s is %s', (text, address) => {
    expect(unmappedAddress(text)).toBe(address);
  });
});
