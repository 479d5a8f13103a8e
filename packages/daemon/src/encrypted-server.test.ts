import { describe, expect, it } from '@jest/globals';
import { serverKey } from '@kube-dns/transport';
import { parseEncryptedServer } from './name-server.js';

/** The server in the form of the log; its address may be a name here. */
function read(text: string): string | undefined {
  const server = parseEncryptedServer(text);
  return server && serverKey({ ...server, address: server.host });
}

describe('a server over TLS', () => {
  it.each([
    ['tls://9.9.9.9', 'tls://9.9.9.9#853'],
    ['tls://9.9.9.9#8853', 'tls://9.9.9.9#8853'],
    ['tls://9.9.9.9%dns.quad9.net', 'tls://9.9.9.9#853%dns.quad9.net'],
    ['tls://9.9.9.9#8853%dns.quad9.net', 'tls://9.9.9.9#8853%dns.quad9.net'],
    ['tls://9.9.9.9:8853%dns.quad9.net', 'tls://9.9.9.9#8853%dns.quad9.net'],
    ['tls://9.9.9.9%dns.quad9.net:8853', 'tls://9.9.9.9#8853%dns.quad9.net'],
    ['tls://9.9.9.9%dns.quad9.net#8853', 'tls://9.9.9.9#8853%dns.quad9.net'],
    ['TLS://9.9.9.9%DNS.Quad9.net.', 'tls://9.9.9.9#853%dns.quad9.net'],
    ['tls://2620:fe::fe', 'tls://2620:fe::fe#853'],
    ['tls://2620:fe::fe#8853%dns.quad9.net', 'tls://2620:fe::fe#8853%dns.quad9.net'],
    ['tls://[2620:fe::fe]', 'tls://2620:fe::fe#853'],
    ['tls://[2620:fe::fe]#8853%dns.quad9.net', 'tls://2620:fe::fe#8853%dns.quad9.net'],
    ['tls://[2620:fe::fe]:8853%dns.quad9.net', 'tls://2620:fe::fe#8853%dns.quad9.net'],
    ['tls://127.0.0.1%2620:fe::fe', 'tls://127.0.0.1#853%2620:fe::fe'],
    ['tls://[fe80::1%eth0]%dns.example', 'tls://fe80::1%eth0#853%dns.example'],
    ['tls://Dns.Quad9.net.', 'tls://dns.quad9.net#853'],
    ['tls://dns.quad9.net#8853%other.example', 'tls://dns.quad9.net#8853%other.example'],
  ])('is read: %s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });
});

describe('a server over HTTPS', () => {
  it.each([
    ['https://dns.quad9.net/dns-query', 'https://dns.quad9.net/dns-query (dns.quad9.net#443)'],
    ['https://9.9.9.9/dns-query', 'https://9.9.9.9/dns-query (9.9.9.9#443)'],
    ['https://9.9.9.9:8443/', 'https://9.9.9.9/ (9.9.9.9#8443)'],
    ['https://[2620:fe::fe]:8443/a/b?c=d', 'https://[2620:fe::fe]/a/b?c=d (2620:fe::fe#8443)'],
    ['https://9.9.9.9%dns.quad9.net/q', 'https://dns.quad9.net/q (9.9.9.9#443)'],
    ['https://9.9.9.9:8443%dns.quad9.net/q', 'https://dns.quad9.net/q (9.9.9.9#8443)'],
  ])('is read: %s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });
});

describe('a text that is no encrypted server', () => {
  it.each(['9.9.9.9', '9.9.9.9#853', 'dns.quad9.net', '2620:fe::fe', ''])(
    'is undefined without a scheme: %j',
    (text) => {
      expect(parseEncryptedServer(text)).toBeUndefined();
    },
  );

  it.each([
    ['quic://9.9.9.9', 'unknown scheme quic://, only tls:// and https:// are possible'],
    ['http://9.9.9.9/q', 'unknown scheme http://, only tls:// and https:// are possible'],
    ['tls://', 'the address is missing'],
    ['tls://#853', 'the address is missing'],
    ['tls://%dns.quad9.net', 'the address is missing'],
    ['tls://9.9.9.9/q', 'tls:// has no path'],
    ['tls://9.9.9.9#0', 'port 0 is not possible'],
    ['tls://9.9.9.9#65536', 'port "65536" is not a number up to 65535'],
    ['tls://9.9.9.9#x', 'port "x" is not a number up to 65535'],
    ['tls://9.9.9.9:', 'port "" is not a number up to 65535'],
    ['tls://9.9.9.9:853#853', 'two ports'],
    ['tls://9.9.9.9#853%dns.quad9.net:853', 'two ports'],
    ['tls://9.9.9.9%', 'the certificate’s name is neither an IP address nor a DNS name'],
    ['tls://9.9.9.9%a_b', 'the certificate’s name is neither an IP address nor a DNS name'],
    ['tls://9.9.9', 'neither an IP address nor a DNS name'],
    ['tls://a b', 'neither an IP address nor a DNS name'],
    ['tls://2620:fe::fe:70000', 'write [2620:fe::fe]:70000'],
    ['tls://[9.9.9.9]', 'not an IPv6 address in brackets'],
    ['tls://[2620:fe::fe%eth0]', 'only a link-local address has a scope'],
    ['https://dns.quad9.net', 'the path is missing, such as /dns-query'],
    ['https:///dns-query', 'the address is missing'],
    ['https://me@dns.quad9.net/q', 'neither an IP address nor a DNS name'],
    ['https://dns.quad9.net/q{?dns}', 'a path has no blanks, braces, # or @'],
    ['https://dns.quad9.net/a b', 'a path has no blanks, braces, # or @'],
  ])('is refused with the reason: %s', (text, reason) => {
    expect(() => parseEncryptedServer(text)).toThrow(new Error(reason));
  });
});
