import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fieldSelectorOf, parseFieldTerms, parseLabelSelector } from './selectors.js';

const LABELS = { app: 'web', tier: 'front', 'example.com/level': '7', empty: '' };

describe('parseLabelSelector', () => {
  it.each([
    '',
    'app',
    'app=web',
    'app==web',
    'app = web , tier=front',
    'app!=db',
    'missing!=db',
    '!missing',
    'app in (db, web)',
    'app notin (db)',
    'missing notin (db)',
    'example.com/level>6',
    'example.com/level<8',
    'empty=',
    'empty in (,x)',
    'app,!missing,tier in (front)',
  ])('selects by "%s"', (text) => {
    expect(parseLabelSelector(text)(LABELS)).toBe(true);
  });

  it.each([
    'missing',
    'app=db',
    'missing=',
    '!app',
    'app!=web',
    'app in (db)',
    'missing in (db,)',
    'app notin (web,db)',
    'app>1',
    'example.com/level>7',
    'toString',
  ])('does not select by "%s"', (text) => {
    expect(parseLabelSelector(text)(LABELS)).toBe(false);
  });

  it.each([
    '=',
    'a=b=c',
    'n>-1',
    'n<+1',
    'n>',
    'n>9223372036854775808',
    'a in',
    'a in (b',
    'a in b',
    'a,',
    ',a',
    'a b',
    '!',
    'a>x',
    '-a=b',
    'a=-b',
    'a/b/c',
  ])('refuses "%s"', (text) => expect(() => parseLabelSelector(text)).toThrow(/unable to parse/));

  it('agrees with its meaning for any labels', () => {
    const word = fc.constantFrom('a', 'b', 'c');
    const labels = fc.dictionary(word, word);
    fc.assert(
      fc.property(labels, word, fc.array(word, { minLength: 1 }), (object, key, values) => {
        const set = values.join(',');
        const isIn = values.some((value) => value === object[key]);
        expect(parseLabelSelector(`${key} in (${set})`)(object)).toBe(isIn);
        expect(parseLabelSelector(`${key} notin (${set})`)(object)).toBe(!isIn);
        expect(parseLabelSelector(`${key}=${values[0]!}`)(object)).toBe(object[key] === values[0]);
        expect(parseLabelSelector(key)(object)).toBe(Object.hasOwn(object, key));
      }),
    );
  });

  it('parses or refuses any text, and throws no other error', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseLabelSelector(text)({});
        } catch (error) {
          expect(error).toMatchObject({ reason: 'BadRequest' });
        }
      }),
    );
  });
});

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
