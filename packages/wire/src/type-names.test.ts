import { describe, expect, it } from '@jest/globals';
import { typeName, typeNumber, typeText } from './type-names.js';

describe('the names of types', () => {
  it('has a number for a name in any case, and for a numbered type', () => {
    expect(['A', 'srv', 'https', 'TYPE65', 'type1'].map(typeNumber)).toEqual([1, 33, 65, 65, 1]);
    expect(['', 'B', '1', 'TYPE0', 'TYPE65536', 'TYPE=1'].map(typeNumber)).toEqual(
      Array(6).fill(undefined),
    );
  });

  it('has a name for a number, and a text where there is no name', () => {
    expect([28, 65, 65_534].map(typeName)).toEqual(['AAAA', 'HTTPS', undefined]);
    expect(typeText(65_534)).toBe('TYPE65534');
  });
});
