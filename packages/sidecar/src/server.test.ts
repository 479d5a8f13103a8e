import { describe, expect, it } from '@jest/globals';

import { parseServer } from './server.js';

describe('parseServer', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1', 53],
    ['127.0.0.1:10053', '127.0.0.1', 10_053],
    ['dns.example.com', 'dns.example.com', 53],
    ['dns.example.com:5353', 'dns.example.com', 5_353],
    ['::1', '::1', 53],
    ['[::1]', '::1', 53],
    ['[::1]:10053', '::1', 10_053],
    [':10053', '127.0.0.1', 10_053],
    ['', '127.0.0.1', 53],
  ])('reads %j', (text, host, port) => {
    expect(parseServer(text)).toEqual({ host, port });
  });

  it.each([
    ['127.0.0.1:', 'port "" is not a number up to 65535'],
    ['127.0.0.1:0', 'port 0 is not possible'],
    ['127.0.0.1:65536', 'port "65536" is not a number up to 65535'],
    ['127.0.0.1:dns', 'port "dns" is not a number up to 65535'],
    ['[127.0.0.1]:53', 'not an IPv6 address in brackets'],
    ['a:b:c', 'too many colons'],
    ['a b', '"a b" is not a host'],
  ])('refuses %j', (text, reason) => {
    expect(() => parseServer(text)).toThrow(new Error(reason));
  });
});
