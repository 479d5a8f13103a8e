import { describe, expect, it } from '@jest/globals';
import { readHosts } from './configured-hosts.js';

function read(text: string) {
  const mistakes: string[] = [];
  const hosts = readHosts(text, (mistake) => void mistakes.push(mistake));
  return { addresses: Object.fromEntries(hosts.addresses), mistakes };
}

describe('the key hosts', () => {
  it('has lines of a hosts file', () => {
    const { addresses, mistakes } = read(
      '\n# all\n192.0.2.1\tA.example. b\r\n2001:db8::1 b # six\n192.0.2.1 b',
    );
    expect(addresses).toEqual({ 'a.example': ['192.0.2.1'], b: ['192.0.2.1', '2001:db8::1'] });
    expect(mistakes).toEqual([]);
  });

  it('has an address once, however it is written', () => {
    const { addresses } = read('::1 a\n0:0::1 a b\n::FFFF:1.2.3.4 b\n::ffff:102:304 b');
    expect(addresses).toEqual({ a: ['::1'], b: ['::1', '::ffff:1.2.3.4'] });
    const { canonical } = readHosts('::1 a\n0::1 b', () => undefined);
    expect([...canonical]).toEqual([['::1', 'a']]);
  });

  it('names each wrong line', () => {
    const { mistakes } = read('a.example 192.0.2.1\n192.0.2.1\n192.0.2.2 -x a\nfe80::1%eth0 b');
    expect(mistakes).toEqual([
      'line 1: "a.example" is not an IP address',
      'line 2: "192.0.2.1" has no name',
      'line 3: "-x" is not a host name',
      'line 4: "fe80::1%eth0" is not an IP address',
    ]);
  });

  it('is bounded', () => {
    const lines = Array.from({ length: 5_000 }, (_, i) => `192.0.2.1 h${i}`).join('\n');
    expect(read(lines).mistakes).toEqual(['more than 4096 names']);
    expect(read('x'.repeat(300_000)).mistakes).toEqual(['it has more than 262144 characters']);
    const many = Array.from({ length: 65 }, (_, i) => `192.0.2.${i} a`).join('\n');
    expect(read(many).mistakes).toEqual(['line 65: a has more than 64 addresses']);
    const wrong = read('x\n'.repeat(100)).mistakes;
    expect(wrong).toHaveLength(21);
    expect(wrong.at(-1)).toBe('80 more lines are wrong');
  });
});
