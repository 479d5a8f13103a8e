import { describe, expect, it } from '@jest/globals';
import { serverKey, serverText } from './server-address.js';

const TLS = { protocol: 'tls', path: '' } as const;
const HTTPS = { protocol: 'https', name: 'dns.example', path: '/dns-query' } as const;

describe('serverText', () => {
  it('writes a server as dnsmasq does', () => {
    expect(serverText({ address: '127.0.0.1', port: 10_053 })).toBe('127.0.0.1#10053');
    expect(serverText({ address: '::1', port: 53 })).toBe('::1#53');
  });

  it('writes an encrypted server as it is configured, with its address', () => {
    const server = { address: '192.0.2.1', port: 853 };
    const texts = [{ ...TLS, name: '192.0.2.1' }, { ...TLS, name: 'dns.example' }, HTTPS].map(
      (encryption) => serverText({ ...server, encryption }),
    );
    expect(texts).toEqual([
      'tls://192.0.2.1#853',
      'tls://192.0.2.1#853%dns.example',
      'https://dns.example/dns-query (192.0.2.1#853)',
    ]);
  });

  it('shows nothing of what a URL has after its `?`; servers differ by it', () => {
    const encryption = { ...HTTPS, path: '/dns-query?token=hunter2' };
    const server = { address: '192.0.2.1', port: 443, encryption };
    expect(serverText(server)).toBe('https://dns.example/dns-query (192.0.2.1#443)');
    expect(serverKey(server)).toBe('https://dns.example/dns-query?token=hunter2 (192.0.2.1#443)');
  });
});
