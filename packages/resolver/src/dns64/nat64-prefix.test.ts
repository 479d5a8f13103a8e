import { describe, expect, it } from '@jest/globals';
import { addressBytes, addressText } from '@kube-dns/wire';
import {
  embedIpv4,
  ipv4In,
  isInRanges,
  parseAddressRange,
  parseNat64Prefix,
} from './nat64-prefix.js';

/** RFC 6052 section 2.4: text representation of IPv4-embedded IPv6 addresses. */
const EMBEDDED = [
  ['2001:db8::/32', '2001:db8:c000:221::'],
  ['2001:db8:100::/40', '2001:db8:1c0:2:21::'],
  ['2001:db8:122::/48', '2001:db8:122:c000:2:2100::'],
  ['2001:db8:122:300::/56', '2001:db8:122:3c0:0:221::'],
  ['2001:db8:122:344::/64', '2001:db8:122:344:c0:2:2100:0'],
  ['2001:db8:122:344::/96', '2001:db8:122:344::192.0.2.33'],
  ['64:ff9b::/96', '64:ff9b::192.0.2.33'],
] as const;

describe('prefixes of a NAT64', () => {
  it.each(EMBEDDED)('%s has 192.0.2.33 in %s', (text, expected) => {
    const out = new Uint8Array(16).fill(0xff);
    embedIpv4(parseNat64Prefix(text), Uint8Array.of(9, 192, 0, 2, 33), 1, out);
    expect(out).toEqual(addressBytes(expected));
  });

  it.each(EMBEDDED)('the address in it is found with %s', (text, embedded) => {
    const found = ipv4In(parseNat64Prefix(text), addressBytes(embedded));
    expect(found && addressText(found)).toBe('192.0.2.33');
  });

  it('an address with another prefix has none, nor one with bits in the octet u', () => {
    const prefix = parseNat64Prefix('2001:db8:122::/48');
    expect(ipv4In(prefix, addressBytes('2001:db8:123:c000:2:2100::'))).toBeUndefined();
    expect(ipv4In(prefix, addressBytes('2001:db8:122:c000:102:2100::'))).toBeUndefined();
  });

  it('what follows the address is ignored', () => {
    const found = ipv4In(parseNat64Prefix('2001:db8::/32'), addressBytes('2001:db8:c000:221::1'));
    expect(found && addressText(found)).toBe('192.0.2.33');
  });

  it.each([
    ['64:ff9b::', 'is no IPv6 prefix'],
    ['10.0.0.0/32', 'is no IPv6 prefix'],
    ['fe80::%eth0/64', 'is no IPv6 prefix'],
    ['64:ff9b::/95', 'does not have 32, 40, 48, 56, 64, 96 bits'],
    ['64:ff9b::1/96', 'has bits after its prefix'],
    ['2001:db8:0:0:100::/96', 'bits 64 to 71'],
    ['::/96', 'has addresses of ::/96, which no NAT64 can have: take 64:ff9b::/96'],
    ['::/32', 'has addresses of ::/96'],
    ['::ffff:0:0/96', 'has addresses of ::ffff:0:0/96'],
    ['fe80::/64', 'has addresses of fe80::/10'],
    ['ff0e::/96', 'has addresses of ff00::/8'],
  ])('%s is refused: it %s', (text, reason) => {
    expect(() => parseNat64Prefix(text)).toThrow(reason);
  });

  it.each(['64:ff9b:1::/48', 'fd00:64::/96', '2002::/32', '2001:db8::/32'])('%s is one', (text) => {
    expect(parseNat64Prefix(text).text).toBe(text);
  });

  it('is written in its shortest form', () => {
    expect(parseNat64Prefix('0064:FF9B:0::/96').text).toBe('64:ff9b::/96');
  });
});

describe('ranges of addresses', () => {
  it.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['192.0.2.1', '192.0.2.1', true],
    ['::ffff:0:0/96', '::ffff:192.0.2.1', true],
    ['::/0', '192.0.2.1', false],
  ])('%s, and %s: %s', (range, address, isIn) => {
    const bytes = addressBytes(address);
    expect(isInRanges([parseAddressRange(range)], bytes, 0, bytes.length)).toBe(isIn);
  });

  it.each(['', '10.0.0.0/33', 'pods', '::/129', '10.0.0.0/'])('%j is refused', (text) => {
    expect(() => parseAddressRange(text)).toThrow('is not IP/bits');
  });
});
