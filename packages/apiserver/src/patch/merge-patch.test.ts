import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mergePatch } from './merge-patch.js';

describe('mergePatch', () => {
  // Examples of RFC 7396, appendix A.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [['a', 'b'], ['c'], ['c']],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('makes of %j with %j: %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (target, patch) => {
        const change: unknown = JSON.parse(patch);
        const once = mergePatch(JSON.parse(target), change);
        expect(mergePatch(once, change)).toEqual(once);
      }),
    );
  });

  it('cannot reach a prototype', () => {
    const result = mergePatch({}, JSON.parse('{"__proto__":{"bad":1}}'));
    expect((result as { bad?: number }).bad).toBeUndefined();
  });

  it('leaves the target as it was', () => {
    const target = { a: { b: 1 } };
    mergePatch(target, { a: { b: 2, c: 3 } });
    expect(target).toEqual({ a: { b: 1 } });
  });
});
