import { SocketAddress } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { addressBytes, encodeKey, TYPE } from '@kube-dns/wire';
import fc from 'fast-check';
import { hashLabel } from '../../test/support/hash-label.js';
import {
  addressHash,
  addressType,
  podAddress,
  readHashLabel,
  readPodIpv4,
  writeHashLabel,
  writeIpv6Text,
} from './zone-names.js';
import { dashedLabel } from '../watch/projections.js';

const spelt = (address: string) => address.replaceAll(/[.:]/g, '-');

describe('podAddress', () => {
  it('reads every address of both families back from its label', () => {
    const v6 = fc.ipV6().filter((text) => !text.includes('.'));
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), v6), (address) => {
        expect(podAddress(spelt(address.toLowerCase()))).toEqual(addressBytes(address));
      }),
    );
  });

  it.each([
    'foo',
    '1-2-3',
    '1-2-3-4-5',
    '256-2-3-4',
    '01-2-3-4',
    '1.2.3.4',
    '1-2-3.4',
    '::1',
    'fd00--1--2',
    'g000--1',
    'fe80--1%eth0',
    '-',
    '',
  ])('makes nothing of %j', (label) => {
    expect(podAddress(label)).toBeUndefined();
  });
});

describe('readPodIpv4', () => {
  /** What it reads from a label between others; undefined for nothing. */
  function read(label: string): Uint8Array | undefined {
    const bytes = Uint8Array.of(1, 0x78, label.length, ...Buffer.from(label, 'latin1'), 1, 0x34);
    const out = new Uint8Array(4);
    return readPodIpv4(bytes, 2, out) ? out : undefined;
  }

  it('reads what podAddress reads as IPv4, and nothing else', () => {
    const part = fc.oneof(
      fc.integer({ min: 0, max: 300 }).map(String),
      fc.constantFrom('', '00', '01', 'a', '1a', '0x1', ' 1', '9999999999'),
    );
    const label = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('-'));
    fc.assert(
      fc.property(fc.oneof(label, fc.ipV4().map(spelt)), (text) => {
        const expected = podAddress(text);
        expect(read(text)).toEqual(expected?.length === 4 ? expected : undefined);
      }),
    );
  });
});

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
