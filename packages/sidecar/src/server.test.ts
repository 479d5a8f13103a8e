import { describe, expect, it } from '@jest/globals';

import { formatServer, parseServer } from './server.js';

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
    ['127.0.0.1:', 'port "" is not a number from 1 to 65535'],
    ['127.0.0.1:0', 'port "0" is not a number from 1 to 65535'],
    ['127.0.0.1:65536', 'port "65536" is not a number from 1 to 65535'],
    ['127.0.0.1:dns', 'port "dns" is not a number from 1 to 65535'],
    ['[127.0.0.1]:53', '"127.0.0.1" is not an IPv6 address'],
    ['a:b:c', 'too many colons'],
    ['a b', '"a b" is not a host'],
  ])('refuses %j', (text, reason) => {
    expect(() => parseServer(text)).toThrow(new Error(reason));
  });
});

describe('formatServer', () => {
  it.each([
    [{ host: '127.0.0.1', port: 53 }, '127.0.0.1:53'],
    [{ host: '::1', port: 53 }, '[::1]:53'],
    [{ host: 'name', port: 53 }, 'name:53'],
  ])('writes %j', (server, text) => {
    expect(formatServer(server)).toBe(text);
  });
});
