import { describe, expect, it } from '@jest/globals';
import { jsonPatch } from './json-patch.js';

describe('jsonPatch', () => {
  it.each([
    [{ a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    [{ a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    [{ a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    [{ a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    [{ a: [1, 2] }, [{ op: 'remove', path: '/a/0' }], { a: [2] }],
    [{ a: 1 }, [{ op: 'replace', path: '/a', value: 2 }], { a: 2 }],
    [{ a: [1, 2] }, [{ op: 'replace', path: '/a/0', value: 9 }], { a: [9, 2] }],
    [{ a: 1 }, [{ op: 'replace', path: '', value: 2 }], 2],
    [{ a: 1 }, [{ op: 'replace', path: '/b', value: 2 }], { a: 1, b: 2 }],
    [{ a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
    [{ a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '/c' }], { a: { b: 1 }, c: { b: 1 } }],
    [{ 'x/y~z': 1 }, [{ op: 'replace', path: '/x~1y~0z', value: 2 }], { 'x/y~z': 2 }],
    [{ a: 1 }, [{ op: 'test', path: '/a', value: 1 }], { a: 1 }],
  ])('makes of %j with %j: %j', (target, patch, result) => {
    expect(jsonPatch(target, patch)).toEqual(result);
  });

  it.each([
    [{ op: 'remove', path: '/x' }],
    [{ op: 'replace', path: '/x/y', value: 1 }],
    [{ op: 'replace', path: '/a/1', value: 1 }],
    [{ op: 'test', path: '/a', value: [2] }],
    [{ op: 'add', path: '/a/2', value: 1 }],
    [{ op: 'add', path: '/a/01', value: 1 }],
    [{ op: 'add', path: 'a', value: 1 }],
    [{ op: 'add', path: '/b/c/d', value: 1 }],
    [{ op: 'add', path: '/__proto__', value: 1 }],
    [{ op: 'sing', path: '/a' }],
    [7],
  ])('refuses %j', (operation) => {
    const target = { a: [1], b: { c: 1 } };
    expect(() => jsonPatch(target, [operation])).toThrow(/cannot be applied/);
    expect(target).toEqual({ a: [1], b: { c: 1 } });
  });

  it('refuses a result that is nested too deep to be copied', () => {
    const deep = Array.from({ length: 20_000 }).reduce<unknown>((value) => ({ a: value }), 1);
    const copy = { op: 'copy', from: '/x', path: '/y' };
    const patch = [
      { op: 'move', from: '/x', path: '/y' },
      { ...copy, from: '/y', path: '/z' },
    ];
    expect(() => jsonPatch({ x: deep }, patch)).toThrow(/cannot be applied/);
  });

  it('refuses patches whose result could grow without bound', () => {
    const copies = Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '', path: `/a${i}` }));
    expect(() => jsonPatch({ a: 1 }, copies)).toThrow(/more than 3145728 bytes/);
  });
});
