import { describe, expect, it } from '@jest/globals';
import { fieldSelectorOf, parseFieldTerms } from './field-selector.js';

describe('parseFieldTerms', () => {
  it('reads all operators and escapes', () => {
    expect(parseFieldTerms('metadata.name=x,spec.type!=y,a==b\\,\\=\\\\,c=')).toEqual([
      { field: 'metadata.name', value: 'x', isEqual: true },
      { field: 'spec.type', value: 'y', isEqual: false },
      { field: 'a', value: 'b,=\\', isEqual: true },
      { field: 'c', value: '', isEqual: true },
    ]);
  });

  it('reads nothing from an empty text', () => {
    expect(parseFieldTerms('')).toEqual([]);
  });

  it.each(['x', '=x', 'a=b=c', 'a=b\\c'])('refuses "%s"', (text) => {
    expect(() => parseFieldTerms(text)).toThrow(/invalid field selector/);
  });
});

describe('fieldSelectorOf', () => {
  it('requires every term and reads a missing field as empty', () => {
    const matches = fieldSelectorOf(parseFieldTerms('a=1,b!=2,c='));
    expect(matches({ a: '1', b: '3' })).toBe(true);
    expect(matches({ a: '1', b: '2' })).toBe(false);
    expect(matches({ a: '1', b: '3', c: 'x' })).toBe(false);
  });
});
