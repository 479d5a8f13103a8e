import { describe, expect, it } from '@jest/globals';
import { parseResolvConf } from './resolv-conf.js';

describe('parseResolvConf', () => {
  it('reads the name servers in their order', () => {
    const text = 'search x\nnameserver 10.0.0.2\noptions ndots:5\nnameserver 2001:db8::1\n';
    expect(parseResolvConf(text)).toEqual([
      { address: '10.0.0.2', port: 53 },
      { address: '2001:db8::1', port: 53 },
    ]);
  });

  it('reads more than three', () => {
    const lines = [1, 2, 3, 4].map((i) => `nameserver 10.0.0.${i}`);
    expect(parseResolvConf(lines.join('\n'))).toHaveLength(4);
  });

  it.each([
    ['tabs and blanks', '  nameserver\t \t10.0.0.1  '],
    ['CRLF', 'nameserver 10.0.0.1\r\n'],
    ['a comment behind', 'nameserver 10.0.0.1 # mine'],
    ['no newline at the end', 'search x\nnameserver 10.0.0.1'],
  ])('reads a line with %s', (_, text) => {
    expect(parseResolvConf(text)).toEqual([{ address: '10.0.0.1', port: 53 }]);
  });

  it('reads the lines of other keywords where they are given', () => {
    const text = 'server 10.0.0.1 x\nnameserver 10.0.0.2\nservers 10.0.0.3\nserver=10.0.0.4';
    expect(parseResolvConf(text)).toEqual([{ address: '10.0.0.2', port: 53 }]);
    const servers = parseResolvConf(text, ['nameserver', 'server']);
    expect(servers.map(({ address }) => address)).toEqual(['10.0.0.1', '10.0.0.2']);
  });

  it('keeps a scoped address', () => {
    expect(parseResolvConf('nameserver fe80::1%eth0')[0]?.address).toBe('fe80::1%eth0');
  });

  it.each([
    ['nothing', ''],
    ['a comment', '# nameserver 10.0.0.1\n; nameserver 10.0.0.2\n#nameserver 10.0.0.3'],
    ['a name', 'nameserver dns.example'],
    ['no value', 'nameserver\nnameserver '],
    ['a port', 'nameserver 10.0.0.1:53'],
    ['another keyword', 'nameservers 10.0.0.1\nNameserver 10.0.0.1'],
  ])('finds no server in %s', (_, text) => {
    expect(parseResolvConf(text)).toEqual([]);
  });
});
