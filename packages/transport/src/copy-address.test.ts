import { describe, expect, it } from '@jest/globals';
import { addressText } from '@kube-dns/wire';
import fc from 'fast-check';
import { copyAddress } from './copy-address.js';

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
