import { describe, expect, it } from '@jest/globals';
import { encodeRdata } from '@kube-dns/wire';
import { isPrivateIpv4, isPrivateIpv6 } from '../answer/reply-filter.js';

function isPrivate(data: string, allowsLocalhost = false): boolean {
  if (data.includes(':')) {
    return isPrivateIpv6(encodeRdata({ type: 'AAAA', name: '.', data }), 0, allowsLocalhost);
  }
  return isPrivateIpv4(encodeRdata({ type: 'A', name: '.', data }), 0, allowsLocalhost);
}

describe('an address that is not on the internet', () => {
  it.each([
    ...['0.0.0.0', '10.0.0.0', '10.255.255.255', '127.0.0.1', '169.254.1.1', '172.16.0.0'],
    ...['172.31.255.255', '192.168.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1'],
    ...['255.255.255.255', '::', '::1', 'fe80::1', 'febf::1', 'fec0::1', 'fd00::1'],
    ...['2001:db8::1', '::ffff:10.0.0.1', '::ffff:127.0.0.1'],
    ...['64:ff9b::7f00:1', '64:ff9b::a00:1', '64:ff9b::', '64:ff9b:1::10.0.0.1'],
    ...['::2', '::10.0.0.1', '::ffff:0:10.0.0.1'],
  ])('%s', (text) => {
    expect(isPrivate(text)).toBe(true);
  });

  it.each([
    ...['9.255.255.255', '11.0.0.0', '100.64.0.1', '172.15.0.1', '172.32.0.0', '192.169.0.1'],
    ...['255.255.255.254', '1.1.1.1', '::1.1.1.1', 'fc00::1', 'fe00::1', '2001:db9::1'],
    ...['2a00::1', '::ffff:1.1.1.1', '::fffe:a00:1', '64:ff9b::101:101'],
    // As dnsmasq has them: of 6to4, Teredo and of providers.
    ...['2002:a00:1::1', '2001:0:a00:1::f5ff:fffe', '100.127.255.255'],
  ])('is not %s', (text) => {
    expect(isPrivate(text)).toBe(false);
  });

  it.each(['127.0.0.1', '0.1.2.3', '::', '::1', '::ffff:127.0.0.1'])(
    'is not %s where this machine is allowed',
    (text) => {
      expect(isPrivate(text, true)).toBe(false);
      expect(isPrivate('10.0.0.1', true)).toBe(true);
    },
  );
});
