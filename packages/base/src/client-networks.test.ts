import { describe, expect, it } from '@jest/globals';
import { ClientNetworks } from './client-networks.js';

describe('networks of clients', () => {
  it.each([
    ['10.1.0.0/16', '10.1.255.1', true],
    ['10.1.0.0/16', '10.2.0.1', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.4', false],
    ['192.0.2.0/24, 10.1.2.3/32', '10.1.2.3', true],
    ['0.0.0.0/0', '10.1.2.3', true],
    ['0.0.0.0/0', 'fd00::1', false],
    ['10.1.0.0/16', '::ffff:10.1.0.1', true],
    ['fd00::/64', 'fd00::1', true],
    ['fd00::/64', 'fd00:0:0:1::1', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['::/0', 'fd00::1', true],
  ])('%s, and a client at %s: %s', (text, address, isIn) => {
    expect(new ClientNetworks(text).has(address)).toBe(isIn);
  });

  it('are known where they are one address', () => {
    const { hosts } = new ClientNetworks('10.1.0.0/16, 10.1.2.3, fd00::1/128, 10.1.2.4/32');
    expect(hosts).toEqual(['10.1.2.3', 'fd00::1', '10.1.2.4']);
  });

  it.each([
    ['', '""'],
    ['10.0.0.1/33', '"10.0.0.1/33"'],
    ['fd00::/129', '"fd00::/129"'],
    ['10.0.0.0/8,', '""'],
    ['10.0.0.0/8,pods', '"pods"'],
    ['10.0.0.0/-1', '"10.0.0.0/-1"'],
    ['10.0.0.0/', '"10.0.0.0/"'],
    ['fe80::1%eth0', '"fe80::1%eth0"'],
  ])('%j is refused', (text, part) => {
    expect(() => new ClientNetworks(text)).toThrow(`${part} is not IP or IP/bits`);
  });
});
