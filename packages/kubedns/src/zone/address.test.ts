import { SocketAddress } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { addressBytes, TYPE } from '@kube-dns/wire';
import fc from 'fast-check';
import { addressType, writeIpv6Text } from './zone-names.js';

describe('addressType', () => {
  it('is A for four bytes and AAAA for sixteen', () => {
    expect([4, 16].map(addressType)).toEqual([TYPE.A, TYPE.AAAA]);
  });
});

describe('writeIpv6Text', () => {
  it('writes the canonical text, as Node does', () => {
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
