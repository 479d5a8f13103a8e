import { describe, expect, it } from '@jest/globals';
import { decodeName, encodeKey, encodeName, TYPE } from '@kube-dns/wire';
import fc from 'fast-check';
import { parseSynthDomain } from '../options/record-values.js';
import { SynthNames } from './synth-names.js';

const domainsOf = (...values: string[]) =>
  new SynthNames(values.map((value) => parseSynthDomain(value.split(','))));

const addressText = (domains: SynthNames, name: string, type: number = TYPE.A) => {
  const key = encodeKey(name);
  return domains.addressOf(key, key.length, type)?.join('.');
};

describe('a name made of an address', () => {
  it('leads to the address, and the address to the name', () => {
    const domains = domainsOf('a.x,10.0.0.0/8,p-', 'b.x,fd00::/16,q-');
    const bytes = (length: number, ...head: number[]) =>
      fc
        .uint8Array({ minLength: length, maxLength: length })
        .map((tail) => Uint8Array.of(...head, ...tail));
    fc.assert(
      fc.property(fc.oneof(bytes(3, 10), bytes(14, 0xfd, 0)), (address) => {
        const name = domains.nameOf(address)!;
        const key = encodeKey(decodeName(name));
        const type = address.length === 4 ? TYPE.A : TYPE.AAAA;
        expect(domains.addressOf(key, key.length, type)).toEqual(address);
        expect(domains.hasName(key, key.length)).toBe(true);
      }),
    );
  });

  it('may have its place in the range instead', () => {
    const domains = domainsOf('i.x,10.1.0.250,10.1.1.5,n*');
    expect(addressText(domains, 'n7.i.x')).toBe('10.1.1.1');
    expect(addressText(domains, 'n12.i.x')).toBeUndefined();
    expect(decodeName(domains.nameOf(Uint8Array.of(10, 1, 1, 5))!)).toBe('n11.i.x');
  });

  it('of an address in several domains is that of the latest', () => {
    const domains = domainsOf('a.x,10.0.0.0/8', 'b.x,10.1.0.0/16');
    expect(decodeName(domains.nameOf(Uint8Array.of(10, 1, 0, 1))!)).toBe('10-1-0-1.b.x');
    expect(decodeName(domains.nameOf(Uint8Array.of(10, 2, 0, 1))!)).toBe('10-2-0-1.a.x');
    expect(addressText(domains, '10-1-0-1.a.x')).toBe('10.1.0.1');
  });

  it('can be anything: nothing is thrown, and no other name exists', () => {
    const domains = domainsOf('x,10.0.0.0/8', 'x,fd00::/8', 'x,10.0.0.0/8,n*', 'x,fe::/64,m*');
    const label = fc.uint8Array({ minLength: 1, maxLength: 63 });
    const digits = fc.stringMatching(/^[nm]?[0-9a-f-]{1,50}$/).map((text) => Buffer.from(text));
    fc.assert(
      fc.property(fc.array(fc.oneof(label, digits), { maxLength: 3 }), (labels) => {
        const parts = labels.flatMap((bytes) => [Buffer.of(bytes.length), Buffer.from(bytes)]);
        const name = Buffer.concat([...parts, encodeName('x')]);
        const isMade = domains.hasName(name, name.length);
        if (labels.length !== 1) expect(isMade).toBe(false);
      }),
    );
  });
});
