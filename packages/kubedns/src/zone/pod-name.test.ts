import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addressBytes } from '@kube-dns/wire';
import { podAddress } from './pod-name.js';

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
