import { describe, expect, it } from '@jest/globals';
import { parseServerAddress, serverText } from './server-address.js';

describe('parseServerAddress', () => {
  it.each([
    ['10.0.0.1', '10.0.0.1', 53],
    ['10.0.0.1:5353', '10.0.0.1', 5353],
    ['10.0.0.1:65535', '10.0.0.1', 65_535],
    ['::1', '::1', 53],
    ['2001:db8::1', '2001:db8::1', 53],
    ['::1:53', '::1:53', 53],
    ['[::1]', '::1', 53],
    ['[2001:db8::1]:10053', '2001:db8::1', 10_053],
    ['fe80::1%eth0', 'fe80::1%eth0', 53],
    ['[fe80::1%eth0]:53', 'fe80::1%eth0', 53],
  ])('reads %s', (text, address, port) => {
    expect(parseServerAddress(text)).toEqual({ address, port });
  });

  it.each([
    '',
    'dns.example',
    'dns.example:53',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.1:',
    '10.0.0.1:0',
    '10.0.0.1:65536',
    '10.0.0.1:99999999',
    '10.0.0.1:-1',
    '10.0.0.1:5x',
    ' 10.0.0.1',
    '10.0.0.1\n',
    '[::1]:',
    '[::1]:0',
    '[::1',
    '::1]:53',
    '[10.0.0.1]:53',
    '[10.0.0.1]',
    '10.0.0.1#53',
    '[]:53',
  ])('finds no server in %j', (text) => {
    expect(parseServerAddress(text)).toBeUndefined();
  });
});

describe('serverText', () => {
  it('writes a server as dnsmasq does', () => {
    expect(serverText({ address: '127.0.0.1', port: 10_053 })).toBe('127.0.0.1#10053');
    expect(serverText({ address: '::1', port: 53 })).toBe('::1#53');
  });
});
