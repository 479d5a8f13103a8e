import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addressBytes } from '@kube-dns/wire';
import { podAddress, readPodIpv4 } from './zone-names.js';

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
