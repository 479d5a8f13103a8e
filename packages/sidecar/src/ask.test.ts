import { describe, expect, it } from '@jest/globals';
import { HostResolver, parseServer } from './ask.js';

describe('HostResolver', () => {
  it('returns an address unchanged', async () => {
    const resolver = new HostResolver(() => Promise.reject(new Error('asked')));
    expect(await resolver.resolve('127.0.0.1')).toBe('127.0.0.1');
    expect(await resolver.resolve('::1')).toBe('::1');
  });

  it('asks the system again at each call', async () => {
    const addresses = ['10.0.0.1', '10.0.0.2'];
    const resolver = new HostResolver(() => Promise.resolve(addresses.shift()!));
    expect(await resolver.resolve('dns')).toBe('10.0.0.1');
    expect(await resolver.resolve('dns')).toBe('10.0.0.2');
  });

  it('joins a look-up that is still in progress', async () => {
    let lookups = 0;
    let finish: (address: string) => void = () => undefined;
    const resolver = new HostResolver(() => {
      lookups++;
      return new Promise((resolve) => (finish = resolve));
    });
    const both = Promise.all([resolver.resolve('dns'), resolver.resolve('dns')]);
    finish('10.0.0.1');
    expect(await both).toEqual(['10.0.0.1', '10.0.0.1']);
    expect(lookups).toBe(1);
  });

  it('names the host that has no address, and tries again at the next call', async () => {
    let isThere = false;
    const resolver = new HostResolver(() =>
      isThere ? Promise.resolve('10.0.0.1') : Promise.reject(new Error('ENOTFOUND')),
    );
    await expect(resolver.resolve('dns')).rejects.toThrow('cannot resolve dns');
    isThere = true;
    expect(await resolver.resolve('dns')).toBe('10.0.0.1');
  });

  it('finds localhost at its IPv4 address', async () => {
    expect(await new HostResolver().resolve('localhost')).toBe('127.0.0.1');
  });
});

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
