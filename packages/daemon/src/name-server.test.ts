import { describe, expect, it } from '@jest/globals';

import { parseNameServer } from './name-server.js';

describe('parseNameServer', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4', null],
    ['1.2.3.4:10053', '1.2.3.4', 10_053],
    ['1.2.3.4:0', '1.2.3.4', 0],
    ['1.2.3.4:', '1.2.3.4', null],
    ['2001:db8::1', '2001:db8::1', null],
    ['2001:DB8::1', '2001:DB8::1', null],
    ['[2001:db8::1]', '2001:db8::1', null],
    ['[2001:db8::1]:5353', '2001:db8::1', 5_353],
    ['ns.example.com', 'ns.example.com', null],
    ['300.1.1.1', '300.1.1.1', null],
  ])('parses %s', (text, host, port) => {
    expect(parseNameServer(text)).toEqual({ host, port });
  });

  it.each([
    ['', 'neither an IP address nor a DNS name'],
    ['$$$$', 'neither an IP address nor a DNS name'],
    ['NS.example.com', 'neither an IP address nor a DNS name'],
    ['fe80::1%eth0', 'neither an IP address nor a DNS name'],
    ['ns.example.com:53', 'a name cannot have a port'],
    ['1.2.3.4:65536', 'port "65536" is not a number up to 65535'],
    ['1.2.3.4:abc', 'port "abc" is not a number up to 65535'],
    ['[::1]:x', 'port "x" is not a number up to 65535'],
    ['[1.2.3.4]:53', 'not an IPv6 address in brackets'],
    ['[]', 'not an IPv6 address in brackets'],
  ])('refuses %j', (text, reason) => {
    expect(() => parseNameServer(text)).toThrow(new Error(reason));
  });
});
