import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findDuplicateKeys } from './body.js';

describe('findDuplicateKeys', () => {
  it.each<[string, string[]]>([
    ['{"a":1,"a":2}', ['a']],
    ['{"a":{"b":1,"b":2,"b":3},"c":{"b":1}}', ['a.b']],
    ['{"a":[{"b":1},{"b":1,"c":"}","b":2}],"a":[]}', ['a[1].b', 'a']],
    ['[{"x":1,"x":2},[{"y":1,"y":2}]]', ['[0].x', '[1][0].y']],
    ['{"a\\"":1,"a\\u0022":2,"b":"a\\":1,"}', ['a"']],
    [' { "a" : [ 1 , true , "a" ] , "b" : null } ', []],
    ['"a"', []],
  ])('finds them in %s', (text, paths) => {
    expect(findDuplicateKeys(text)).toEqual(paths);
  });

  it('finds none in any text that JSON.stringify made', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(findDuplicateKeys(JSON.stringify(value, null, 1))).toEqual([]);
      }),
    );
  });
});
