import { describe, expect, it } from '@jest/globals';
import { serverText } from './server-address.js';

describe('serverText', () => {
  it('writes a server as dnsmasq does', () => {
    expect(serverText({ address: '127.0.0.1', port: 10_053 })).toBe('127.0.0.1#10053');
    expect(serverText({ address: '::1', port: 53 })).toBe('::1#53');
  });
});
