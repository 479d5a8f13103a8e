import { describe, expect, it } from '@jest/globals';
import { isLowerVersion } from './history.js';

describe('isLowerVersion', () => {
  it.each([
    ['1', '2', true],
    ['9', '10', true],
    ['99', '100', true],
    ['9007199254740992', '9007199254740993', true],
    ['0', '1', true],
    ['2', '1', false],
    ['10', '9', false],
    ['7', '7', false],
  ])('compares %s with %s by value', (version, other, isLower) => {
    expect(isLowerVersion(version, other)).toBe(isLower);
  });

  it.each([
    ['', '5'],
    ['5', 'abcdef'],
    ['a', 'b'],
    ['-1', '50'],
    ['05', '100'],
  ])('is false for %s and %s, of which one is no version to compare', (version, other) => {
    expect(isLowerVersion(version, other)).toBe(false);
  });
});
