import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { expandVariables, readKubeObjects } from './objects.js';

const VARIABLES = new Map([
  ['A', 'one'],
  ['B', '$(A)'],
  ['EMPTY', ''],
]);

describe('expansion of variables', () => {
  it.each([
    ['$(A)', 'one'],
    ['x$(A)y$(A)', 'xoneyone'],
    ['$(B)', '$(A)'],
    ['[$(EMPTY)]', '[]'],
    ['$(C)', '$(C)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$one'],
    ['$$', '$'],
    ['$A ${A} $(A', '$A ${A} $(A'],
    ['100$', '100$'],
  ])('makes of %s: %s', (text, expanded) => {
    expect(expandVariables(text, VARIABLES)).toBe(expanded);
  });
});

describe('objects of a text', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('bring no warning of Node with them, whatever a key is', () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    expect(readKubeObjects('kind: Pod\nmetadata: {name: a}\n? [b]\n: c\n', 'file')).toMatchObject([
      { kind: 'Pod', name: 'a' },
    ]);
    expect(warn).not.toHaveBeenCalled();
  });
});
