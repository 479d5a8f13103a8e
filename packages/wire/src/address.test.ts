import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addressBytes, addressText, shortIpv6 } from './address.js';
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

  it.each([
    ['10.0.255.1', '10.0.255.1'],
    ['2001:DB8:0:0:1:0:0:0', '2001:db8:0:0:1::'],
    ['::ffff:102:304', '::ffff:1.2.3.4'],
    ['0:0:0:0:0:0:0:0', '::'],
  ])('writes %s as %s', (text, shortest) => {
    expect(addressText(addressBytes(text))).toBe(shortest);
  });
});
