import { describe, expect, it } from '@jest/globals';

import { formatHostPort, parseHostPort } from './host-port.js';

describe('parseHostPort', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1', null],
    ['127.0.0.1:10053', '127.0.0.1', 10_053],
    ['127.0.0.1:0', '127.0.0.1', 0],
    ['dns.example.com:5353', 'dns.example.com', 5_353],
    ['::1', '::1', null],
    ['::1:53', '::1:53', null],
    ['fe80::1%eth0', 'fe80::1%eth0', null],
    ['[::1]', '::1', null],
    ['[::1]:10053', '::1', 10_053],
    ['[fe80::1%eth0]:53', 'fe80::1%eth0', 53],
    [':10053', '', 10_053],
    ['', '', null],
  ])('parses %j', (text, host, port) => {
    expect(parseHostPort(text)).toEqual({ host, port });
  });

  it.each([
    ['127.0.0.1:', 'port "" is not a number up to 65535'],
    ['127.0.0.1:65536', 'port "65536" is not a number up to 65535'],
    ['127.0.0.1:-1', 'port "-1" is not a number up to 65535'],
    ['127.0.0.1:dns', 'port "dns" is not a number up to 65535'],
    ['127.0.0.1:5\n', 'port "5\\n" is not a number up to 65535'],
    ['user:hunter2@127.0.0.1', 'port "***@127.0.0.1" is not a number up to 65535'],
    ['[::1]:x', 'port "x" is not a number up to 65535'],
    ['[127.0.0.1]:53', 'not an IPv6 address in brackets'],
    ['[]', 'not an IPv6 address in brackets'],
    ['a:b:c', 'too many colons'],
    ['[::1', 'too many colons'],
    ['::1:10053', 'write [::1]:10053'],
  ])('refuses %j', (text, reason) => {
    expect(() => parseHostPort(text)).toThrow(new Error(reason));
  });
});

describe('formatHostPort', () => {
  it.each([
    [{ host: '127.0.0.1', port: 53 }, '127.0.0.1:53'],
    [{ host: '::1', port: 53 }, '[::1]:53'],
    [{ host: 'name', port: 53 }, 'name:53'],
  ])('writes %j', (server, text) => {
    expect(formatHostPort(server)).toBe(text);
  });
});
