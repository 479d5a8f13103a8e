import { describe, expect, it } from '@jest/globals';
import { decodeName, encodeName, lowerCaseByte } from '@kube-dns/wire';
import fc from 'fast-check';
import { HostsFileName } from './hosts-files.js';

const name = new HostsFileName();

describe('a name of a hosts file', () => {
  it('is in wire form as elsewhere, and also lower-cased', () => {
    const label = fc.stringMatching(/^[-_A-Za-z0-9]{1,63}$/);
    const text = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
    fc.assert(
      fc.property(text, fc.constantFrom('', '.'), (bare, dot) => {
        fc.pre(bare.length <= 253);
        expect(name.read(bare + dot)).toBe(true);
        const expected = encodeName(bare);
        expect(name.written.slice(0, name.length)).toEqual(expected);
        expect(name.key.slice(0, name.length)).toEqual(expected.map(lowerCaseByte));
      }),
    );
  });

  it('treats a backslash as a character', () => {
    expect(name.read('a\\046b')).toBe(true);
    expect(decodeName(name.written)).toBe('a\\\\046b');
  });

  it.each([
    ['nothing', ''],
    ['the root', '.'],
    ['an empty label', 'a..b'],
    ['an empty label in front', '.a'],
    ['a label of 64 bytes', `${'a'.repeat(64)}.b`],
    ['256 bytes', `${'a.'.repeat(126)}aa`],
  ])('is not %s', (_what, text) => {
    expect(name.read(text)).toBe(false);
  });

  it('may have 255 bytes', () => {
    expect(name.read(`${'a.'.repeat(126)}a`)).toBe(true);
    expect(name.length).toBe(255);
  });
});
