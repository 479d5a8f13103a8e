import { describe, expect, it } from '@jest/globals';
import { expandVariables } from './objects.js';

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
