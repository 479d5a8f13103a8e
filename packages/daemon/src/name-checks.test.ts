import { describe, expect, it } from '@jest/globals';

import { isDnsSubdomain } from './name-server.js';

describe('isDnsSubdomain', () => {
  it.each([
    ['a', true],
    ['acme.local', true],
    ['1-2.x', true],
    [`${'a'.repeat(63)}.x`, true],
    ['', false],
    ['a.', false],
    ['a..b', false],
    ['-a', false],
    ['a-.b', false],
    ['a_b', false],
    ['A', false],
    [`${'a'.repeat(64)}.x`, false],
    [Array(64).fill('abc').join('.'), false],
  ])('checks %j', (text, isValid) => {
    expect(isDnsSubdomain(text)).toBe(isValid);
  });
});
