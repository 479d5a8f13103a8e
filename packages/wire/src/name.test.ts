import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { wireNames } from '../test/arbitraries.js';
import { bytesOf } from '../test/messages.js';
import { WireError } from './errors.js';
import {
  decodeName,
  encodeKey,
  encodeName,
  equalNames,
  expandKey,
  expandName,
  lowerCaseByte,
  prependLabels,
  ROOT_NAME,
  skipName,
  suffixOffset,
} from './name.js';

const label63 = 'a'.repeat(63);
/** 3 × 64 bytes of labels, one of 62 and the root: 255 bytes. */
const longest = `${label63}.${label63}.${label63}.${'b'.repeat(61)}`;

describe('encodeName', () => {
  it.each([
    ['.', [0]],
    ['a', [1, 'a', 0]],
    ['a.', [1, 'a', 0]],
    ['Kube.DNS', [4, 'Kube', 3, 'DNS', 0]],
    ['_http._tcp.x', [5, '_http', 4, '_tcp', 1, 'x', 0]],
    ['a\\.b.c', [3, 'a.b', 1, 'c', 0]],
    ['a\\\\b', [3, 'a\\b', 0]],
    ['\\000\\255', [2, 0, 255, 0]],
    ['\\0661', [2, 'B1', 0]],
    ['a b', [3, 'a b', 0]],
    ['ü.de', [2, 0xc3, 0xbc, 2, 'de', 0]],
    [label63, [63, label63, 0]],
  ])('turns %j into wire form', (text, parts) => {
    expect([...encodeName(text)]).toEqual([...bytesOf(...parts)]);
  });

  it('takes a name of 255 bytes', () => {
    expect(encodeName(longest)).toHaveLength(255);
    expect(encodeName(`${longest}.`)).toHaveLength(255);
  });

  it.each([
    ['', 'empty name'],
    ['..', 'empty label'],
    ['.a', 'empty label'],
    ['a..b', 'empty label'],
    ['a..', 'empty label'],
    ['a\\', 'bad escape'],
    ['a\\25', 'bad escape'],
    ['a\\2b', 'bad escape'],
    ['a\\256', 'bad escape'],
    [`${label63}a`, 'label longer than 63 bytes'],
    ['ü'.repeat(32), 'label longer than 63 bytes'],
    [`b${longest}`, 'label longer than 63 bytes'],
    [`${longest}b`, 'longer than 255 bytes'],
    [`${longest}.b`, 'longer than 255 bytes'],
  ])('refuses %j: %s', (text, reason) => {
    const refused = () => encodeName(text);
    expect(refused).toThrow(WireError);
    expect(refused).toThrow(`name ${JSON.stringify(text)}: ${reason}`);
  });
});

describe('encodeKey', () => {
  it('lower-cases ASCII letters and nothing else', () => {
    expect([...encodeKey('AZ[@É.Z')]).toEqual([...bytesOf(6, 'az[@', 0xc3, 0x89, 1, 'z', 0)]);
  });
});

describe('decodeName', () => {
  it('is undone by encodeName, whatever bytes the labels have', () => {
    fc.assert(
      fc.property(wireNames, (name) => {
        expect([...encodeName(decodeName(name))]).toEqual([...name]);
      }),
    );
  });

  it('writes only printable ASCII without spaces', () => {
    fc.assert(fc.property(wireNames, (name) => /^[!-~]+$/.test(decodeName(name))));
  });

  it('writes the root as a dot, and other names without the last one', () => {
    expect(decodeName(ROOT_NAME)).toBe('.');
    expect(decodeName(encodeName('a.b.'))).toBe('a.b');
  });

  it('reads a name inside other bytes and stops at its end', () => {
    expect(decodeName(bytesOf(9, 9, 1, 'a', 2, 'bc', 0, 7, 7), 2)).toBe('a.bc');
  });

  it.each([
    ['no root at its end', bytesOf(1, 'a')],
    ['a label that runs past the end', bytesOf(5, 'abc')],
    ['a compression pointer', bytesOf(1, 'a', 0xc0, 12)],
    ['no bytes at all', bytesOf()],
  ])('throws for %s', (_, bytes) => {
    expect(() => decodeName(bytes)).toThrow(WireError);
  });
});

describe('equalNames', () => {
  it('ignores the case of ASCII letters only', () => {
    expect(equalNames(encodeName('Web.Default'), encodeName('wEB.dEFAULT'))).toBe(true);
    expect(equalNames(encodeName('é'), encodeName('É'))).toBe(false);
    expect(equalNames(encodeName('a['), encodeName('a{'))).toBe(false);
  });

  it('tells names of different length or labels apart', () => {
    expect(equalNames(encodeName('a.b'), encodeName('a.b.c'))).toBe(false);
    expect(equalNames(encodeName('a.b'), encodeName('a\\.b'))).toBe(false);
  });
});

describe('lowerCaseByte', () => {
  it('folds A to Z and leaves the neighbours', () => {
    expect([0x40, 0x41, 0x5a, 0x5b, 0xc1].map(lowerCaseByte)).toEqual([
      0x40, 0x61, 0x7a, 0x5b, 0xc1,
    ]);
  });
});

describe('suffixOffset', () => {
  const offset = (name: string, suffix: string) => {
    const key = encodeKey(name);
    return suffixOffset(key, key.length, encodeKey(suffix));
  };

  it.each([
    ['a.cluster.local', 'cluster.local', 2],
    ['cluster.local', 'cluster.local', 0],
    ['a.b', '.', 4],
    ['.', '.', 0],
    ['xcluster.local', 'cluster.local', -1],
    ['local', 'cluster.local', -1],
    ['cluster.local.org', 'cluster.local', -1],
    ['.', 'local', -1],
  ])('of %s in %s is at %d', (name, suffix, expected) => {
    expect(offset(name, suffix)).toBe(expected);
  });

  it('does not take the inside of a label for a suffix', () => {
    // The first label holds the very bytes of the name "b" in wire form.
    expect(offset('a\\001b', 'b')).toBe(-1);
    expect(offset('\\005local', 'local')).toBe(-1);
  });

  it('looks at no byte behind the given length', () => {
    const name = new Uint8Array(255).fill(0x61);
    name.set(encodeKey('a.b'));
    expect(suffixOffset(name, 5, encodeKey('b'))).toBe(2);
  });

  it('is where the labels in front end, for any two names', () => {
    fc.assert(
      fc.property(wireNames, wireNames, (front, suffix) => {
        const name = Uint8Array.from([...front.subarray(0, -1), ...suffix]);
        expect(suffixOffset(name, name.length, suffix)).toBe(front.length - 1);
      }),
    );
  });
});

describe('prependLabels', () => {
  it('joins labels in front of a name', () => {
    expect(decodeName(prependLabels(['_http', '_tcp'], encodeName('svc.x')))).toBe(
      '_http._tcp.svc.x',
    );
  });

  it('takes a dot inside a label for a letter', () => {
    expect(decodeName(prependLabels(['a.b'], ROOT_NAME))).toBe('a\\.b');
  });

  it('writes text as encodeName does', () => {
    expect([...prependLabels(['ü', 'Ā'], ROOT_NAME)]).toEqual([...encodeName('ü.Ā')]);
  });

  it.each([
    ['an empty label', [''], 'must have 1 to 63 bytes'],
    ['a label of 64 bytes', ['a'.repeat(64)], 'must have 1 to 63 bytes'],
    ['more than 255 bytes', [label63, label63, label63, label63], 'longer than 255 bytes'],
  ])('refuses %s', (_, labels, reason) => {
    expect(() => prependLabels(labels, ROOT_NAME)).toThrow(reason);
  });
});

describe('skipName', () => {
  it.each([
    ['the root', [0], 1],
    ['labels', [1, 'a', 1, 'b', 0], 5],
    ['a pointer', [0xc0, 0], 2],
    ['labels and a pointer', [1, 'a', 0xc0, 0], 4],
    ['a missing root', [1, 'a'], -1],
    ['a label past the end', [5, 'a'], -1],
    ['half a pointer', [0xc0], -1],
    ['a label type that is none', [0x40, 0], -1],
    ['nothing', [], -1],
  ])('steps over %s', (_, parts, expected) => {
    const bytes = bytesOf(...parts);
    expect(skipName(bytes, 0, bytes.length)).toBe(expected);
  });
});

describe('expandKey', () => {
  it('is expandName, lower-cased', () => {
    const out = new Uint8Array(255);
    const bytes = Uint8Array.from([...new Uint8Array(12), ...encodeName('Web.x'), 1, 65, 0xc0, 12]);
    const length = expandKey(bytes, bytes.length - 4, bytes.length, out);
    expect(out.subarray(0, length)).toEqual(new Uint8Array(encodeName('a.web.x')));
    expect(expandKey(bytes, bytes.length - 1, bytes.length, out)).toBe(-1);
  });
});

describe('expandName', () => {
  /** Expands the name at the end of 12 header bytes and `before`. */
  const expand = (before: Uint8Array, name: Uint8Array) => {
    const bytes = Uint8Array.from([...new Uint8Array(12), ...before, ...name]);
    const out = new Uint8Array(255);
    const length = expandName(bytes, 12 + before.length, bytes.length, out);
    return length < 0 ? length : decodeName(out.subarray(0, length));
  };

  it('copies a name that has no pointer, its case kept', () => {
    expect(expand(bytesOf(), encodeName('Web.Default'))).toBe('Web.Default');
  });

  it('follows pointers backwards', () => {
    const before = bytesOf(3, 'com', 0, 1, 'b', 0xc0, 12);
    expect(expand(before, bytesOf(1, 'a', 0xc0, 17))).toBe('a.b.com');
    expect(expand(before, bytesOf(0xc0, 16))).toBe('.');
  });

  it.each([
    ['to itself', bytesOf(), bytesOf(0xc0, 12)],
    ['into its own labels', bytesOf(), bytesOf(1, 'a', 0xc0, 12)],
    ['forwards', bytesOf(), bytesOf(0xc0, 14, 1, 'a', 0)],
    ['in a circle', bytesOf(0xc0, 14), bytesOf(0xc0, 12)],
    ['into the header', bytesOf(), bytesOf(0xc0, 4)],
    ['behind the end', bytesOf(), bytesOf(0xc0, 0xff)],
  ])('refuses a pointer %s', (_, before, name) => {
    expect(expand(before, name)).toBe(-1);
  });

  it('follows 127 pointers and no more', () => {
    // The root at 12, then pointers, each to the one before it.
    const chain = new Uint8Array(12 + 1 + 2 * 128);
    for (let at = 13; at < chain.length; at += 2) {
      const target = at === 13 ? 12 : at - 2;
      chain[at] = 0xc0 | (target >> 8);
      chain[at + 1] = target;
    }
    const out = new Uint8Array(255);
    expect(expandName(chain, 13 + 2 * 126, chain.length, out)).toBe(1);
    expect(expandName(chain, 13 + 2 * 127, chain.length, out)).toBe(-1);
  });

  it('refuses a name that pointers make longer than 255 bytes', () => {
    const name62 = bytesOf(62, 'x'.repeat(62));
    const before = bytesOf(...[...name62, ...name62, ...name62, ...name62], 0);
    expect(expand(before, bytesOf(0xc0, 12))).toHaveLength(4 * 62 + 3);
    expect(expand(before, bytesOf(1, 'a', 0xc0, 12))).toHaveLength(4 * 62 + 5);
    expect(expand(before, bytesOf(2, 'ab', 0xc0, 12))).toBe(-1);
  });

  it.each([
    ['a missing root', bytesOf(1, 'a')],
    ['half a pointer', bytesOf(0xc0)],
    ['a label past the end', bytesOf(9, 'a')],
    ['a label type that is none', bytesOf(0x80, 0)],
  ])('refuses %s', (_, name) => {
    expect(expand(bytesOf(), name)).toBe(-1);
  });

  it('returns a valid name or -1 for any bytes', () => {
    const bytes = fc.uint8Array({ minLength: 13, maxLength: 300 });
    fc.assert(
      fc.property(bytes, fc.nat(), (message, seed) => {
        const at = 12 + (seed % (message.length - 12));
        const out = new Uint8Array(255);
        const length = expandName(message, at, message.length, out);
        if (length >= 0)
          expect([...encodeName(decodeName(out))]).toEqual([...out.slice(0, length)]);
        else expect(length).toBe(-1);
      }),
    );
  });
});
