import { describe, expect, it } from '@jest/globals';
import { hashLabel } from '../../test/support/hash-label.js';
import { addressBytes, encodeKey } from '@kube-dns/wire';
import fc from 'fast-check';
import { addressHash, dashedLabel, readHashLabel, writeHashLabel } from './zone-names.js';

describe('the generated label', () => {
  it.each([
    ['10.0.0.1', '3234633364383235'],
    ['10.0.0.10', '32643961613639'],
    ['10.0.0.11', '3963313836353630'],
    ['10.0.0.254', '343562366639'],
    ['10.1.0.1', '3362356536323463'],
    ['10.1.0.2', '3136356331663837'],
    ['10.1.0.3', '3463643435316465'],
    ['1.2.3.4', '6263626163303737'],
    ['fd00::11', '3135336462333864'],
    ['fd00::66', '6663653034396533'],
    ['2001:db8::8a2e:370:7334', '3535663862643933'],
  ])('names %s as the original does', (address, label) => {
    expect(hashLabel(address)).toBe(label);
  });

  it('is read back as the hash that it was made of', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff_ffff }), (hash) => {
        const out = new Uint8Array(17);
        writeHashLabel(hash, out, 0);
        expect(readHashLabel(out, 0)).toBe(hash);
      }),
    );
  });

  it.each(['', 'a', 'zz', '3g', '30303030', '3030', '313', '2f', '3a', '323436333364383235'])(
    'is none that no address has: %j',
    (label) => {
      expect(readHashLabel(encodeKey(label === '' ? '.' : label), 0)).toBe(-1);
    },
  );

  it('is the same for an address at any offset', () => {
    const bytes = Buffer.from(addressBytes('10.0.0.1')).toString('latin1');
    expect(addressHash(`xx${bytes}`, 2, 4)).toBe(addressHash(bytes, 0, 4));
  });
});

describe('dashedLabel', () => {
  it.each([
    ['10.0.0.1', '10-0-0-1'],
    ['FD00::1', 'fd00--1'],
    ['fd00::', 'fd00--0'],
    ['::1', '0--1'],
    ['::', '0--0'],
  ])('makes %s %s', (address, label) => {
    expect(dashedLabel(address)).toBe(label);
  });
});
